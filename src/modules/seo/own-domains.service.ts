import { Injectable } from '@nestjs/common';
import { readFile } from 'node:fs/promises';
import { Config } from '../../config/config.js';
import type { Edge } from '../../drivers/web/web.js';
import { SiteAddresses } from '../pages/sites/site-addresses.service.js';
import { SiteRepository } from '../pages/sites/site.repository.js';

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

/** More than any plan has. */
const MAX_SITES = 10_000;

/** The hosts that an account may scan for nothing. */
@Injectable()
export class OwnDomains {
  constructor(
    private readonly sites: SiteRepository,
    private readonly addresses: SiteAddresses,
    private readonly config: Config,
  ) {}

  /** Oldest first. */
  async list(accountId: string): Promise<OwnDomain[]> {
    const sites = await this.sites.list(accountId, MAX_SITES);
    if (sites.length === 0) return [];
    const edge = await this.edge();
    return sites.reverse().flatMap(({ id, domain, tlsStatus }) => {
      if (domain === null) return [];
      return { id, domain, siteId: id, url: `${this.addresses.ofSite(domain, tlsStatus === 'active')}/`, edge };
    });
  }

  private async edge(): Promise<OwnDomain['edge']> {
    const { pagesHost, pagesHttpPort: httpPort, pagesHttpsPort: httpsPort, acmeCaFile } = this.config;
    const ca = acmeCaFile === undefined ? {} : { ca: await readFile(acmeCaFile, 'utf8') };
    return { address: ownAddress(pagesHost), httpPort, httpsPort, ...ca };
  }
}

/** What listens everywhere is reached at home. */
function ownAddress(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}
