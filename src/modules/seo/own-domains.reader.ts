import { Injectable } from '@nestjs/common';
import { Config, readCertificates } from '../../config/config.js';
import type { Edge } from '../../drivers/web/web.js';
import { SiteDirectory } from '../pages/sites/site-directory.service.js';

/** A host that is the caller's own: one of their sites. */
export interface OwnDomain {
  id: string;
  domain: string;
  siteId: string;
  /** Where its home page is. */
  url: string;
  /** Where our own edge serves it; scans of own domains go nowhere else. */
  edge: Omit<Edge, 'host'>;
}

/** The hosts that an account may scan for nothing. */
@Injectable()
export class OwnDomains {
  private readonly edge: OwnDomain['edge'];

  constructor(
    private readonly sites: SiteDirectory,
    config: Config,
  ) {
    const { pagesHost, pagesHttpPort: httpPort, pagesHttpsPort: httpsPort } = config;
    const ca = readCertificates(config, 'acmeCaFile');
    this.edge = { address: ownAddress(pagesHost), httpPort, httpsPort, ...(ca === undefined ? {} : { ca }) };
  }

  /** Oldest first. */
  async list(accountId: string): Promise<OwnDomain[]> {
    const sites = await this.sites.of(accountId);
    return sites.map(({ id, domain, url }) => ({ id, domain, siteId: id, url, edge: this.edge }));
  }
}

/** What listens everywhere is reached at home. */
function ownAddress(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}
