import { Injectable } from '@nestjs/common';
import { Config } from '../../../config/config.js';

/** Where sites and deployments are reached from outside. */
@Injectable()
export class SiteAddresses {
  constructor(private readonly config: Config) {}

  ofSite(domain: string, secure: boolean): string {
    const { pagesHttpPort, pagesHttpsPort, pagesPublicHttpPort, pagesPublicHttpsPort } = this.config;
    if (secure) return `https://${domain}${portPart(pagesPublicHttpsPort ?? pagesHttpsPort, 443)}`;
    return `http://${domain}${portPart(pagesPublicHttpPort ?? pagesHttpPort, 80)}`;
  }

  /** Null where the operator has set no domain for it. */
  ofDeployment(deploymentId: string): string | null {
    const { pagesPreviewDomain } = this.config;
    return pagesPreviewDomain === undefined ? null : this.ofSite(`${deploymentId}.${pagesPreviewDomain}`, false);
  }

  /** The deployment whose address has this host; null for another host. */
  deploymentOf(host: string): string | null {
    const { pagesPreviewDomain } = this.config;
    const suffix = `.${pagesPreviewDomain}`;
    return pagesPreviewDomain !== undefined && host.endsWith(suffix) ? host.slice(0, -suffix.length) : null;
  }
}

function portPart(port: number, usual: number): string {
  return port === usual ? '' : `:${port}`;
}
