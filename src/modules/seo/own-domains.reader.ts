import { Injectable } from '@nestjs/common';
import { readFile } from 'node:fs/promises';
import { Config } from '../../config/config.js';
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
  constructor(
    private readonly sites: SiteDirectory,
    private readonly config: Config,
  ) {}

  /** Oldest first. */
  async list(accountId: string): Promise<OwnDomain[]> {
    const sites = await this.sites.of(accountId);
    if (sites.length === 0) return [];
    const edge = await this.edge();
    return sites.map(({ id, domain, url }) => ({ id, domain, siteId: id, url, edge }));
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
