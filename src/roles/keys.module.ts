import { Global, Module, type OnModuleInit } from '@nestjs/common';
import { Config } from '../config/config.js';
import { createKeyProvider } from '../platform/crypto/key-provider.factory.js';
import { KeyProvider } from '../platform/crypto/key-provider.js';
import { Health } from '../platform/observability/health.js';

/** The way to whoever keeps the master key, for the api. */
@Global()
@Module({
  providers: [{ provide: KeyProvider, inject: [Config], useFactory: createKeyProvider }],
  exports: [KeyProvider],
})
export class KeysModule implements OnModuleInit {
  constructor(
    private readonly keys: KeyProvider,
    private readonly health: Health,
  ) {}

  onModuleInit(): void {
    this.health.register({ name: 'keyProvider', critical: false, check: () => this.keys.check() });
  }
}
