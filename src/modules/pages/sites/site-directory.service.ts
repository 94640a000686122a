import { Injectable } from '@nestjs/common';
import { SiteAddresses } from './site-addresses.service.js';
import { SiteRepository } from './site.repository.js';

/** More than any plan has. */
const MAX_SITES = 10_000;

/** What other modules may know of sites. */
@Injectable()
export class SiteDirectory {
  constructor(
    private readonly sites: SiteRepository,
    private readonly addresses: SiteAddresses,
  ) {}

  /** The account's sites and where their home pages are, oldest first. */
  async of(accountId: string): Promise<{ id: string; domain: string; url: string }[]> {
    const sites = await this.sites.list(accountId, MAX_SITES);
    return sites.reverse().flatMap(({ id, domain, tlsStatus }) => {
      return domain === null ? [] : { id, domain, url: `${this.addresses.ofSite(domain, tlsStatus === 'active')}/` };
    });
  }
}
