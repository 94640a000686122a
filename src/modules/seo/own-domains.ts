import { Injectable } from '@nestjs/common';

/** A host that is the caller's own: one of their sites. */
export interface OwnDomain {
  id: string;
  domain: string;
  siteId: string;
  /** Where its home page is. */
  url: string;
  /** Where our own edge serves it; scans of own domains go nowhere else. */
  edge: { address: string; httpPort: number; httpsPort: number; ca?: string };
}

/** The hosts that an account may scan for nothing. */
@Injectable()
export class OwnDomains {
  /** Oldest first. */
  async list(_accountId: string): Promise<OwnDomain[]> {
    return [];
  }
}
