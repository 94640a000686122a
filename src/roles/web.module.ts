import { Global, Module, type OnModuleDestroy } from '@nestjs/common';
import { Config } from '../config/config.js';
import { GuardedWeb } from '../drivers/web/guarded/guarded-web.js';
import { Web } from '../drivers/web/web.js';
import { PageAuditor } from '../modules/seo/audits/page-auditor.js';
import { DnsResolver } from '../platform/dns/dns-resolver.js';
import { ThreadedAuditor } from './threaded-auditor.js';

/** The web as scans see it, and the thread that judges what comes from there. */
@Global()
@Module({
  providers: [
    {
      provide: Web,
      inject: [Config],
      useFactory: (config: Config) => {
        const dns = new DnsResolver(config);
        return new GuardedWeb({
          rules: { allow: config.scanAllowAddresses, deny: config.publicAddress },
          resolve: (name) => dns.addresses(name),
          userAgent: `BerthBot/1.0 (+${config.publicUrl}/docs)`,
        });
      },
    },
    { provide: PageAuditor, useClass: ThreadedAuditor },
  ],
  exports: [Web, PageAuditor],
})
export class WebModule implements OnModuleDestroy {
  constructor(private readonly auditor: PageAuditor) {}

  async onModuleDestroy(): Promise<void> {
    if (this.auditor instanceof ThreadedAuditor) await this.auditor.close();
  }
}
