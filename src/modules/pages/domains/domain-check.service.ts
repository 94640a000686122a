import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Config } from '../../../config/config.js';
import { DnsFailure, DnsResolver } from '../../../platform/dns/dns-resolver.js';
import { DomainError, badField } from '../../../platform/errors/domain-error.js';
import { AddressSet } from '../../../platform/http/client-address.js';
import { isWithin } from './domain-name.js';

export type Pointing = { points: true } | { points: false; found: string[] };

/** Where TXT records prove a domain to be an account's, and what they say. */
export interface DomainProof {
  name: string;
  value: string;
}

/** Judges domains by what the DNS says of them. */
@Injectable()
export class DomainCheck {
  private readonly ours: AddressSet;
  private readonly ownNames: string[];
  private readonly ownZones: string[];
  private readonly onLoopback: boolean;

  constructor(
    private readonly config: Config,
    private readonly dns: DnsResolver,
  ) {
    this.ours = new AddressSet(config.publicAddress);
    this.onLoopback = this.ours.has('127.0.0.1') || this.ours.has('::1');
    const urls = [config.publicUrl, config.cdnUrl, config.consoleUrl];
    // Every machine has this name, and those below it are free for sites.
    this.ownNames = urls.map((url) => new URL(url).hostname).filter((name) => name !== 'localhost');
    this.ownZones = config.pagesPreviewDomain === undefined ? [] : [config.pagesPreviewDomain];
  }

  /** A 400 for names that are the platform's own, and for what is above or below them. */
  mustNotBeOurs(domain: string): void {
    const ours =
      this.ownNames.some((name) => isWithin(domain, name)) || this.ownZones.some((zone) => isWithin(domain, zone));
    if (ours) throw badField('domain', 'domain_reserved', "domain must not be one of the platform's own");
  }

  /** A 400 unless all addresses of the domain are ours. */
  async mustPointHere(domain: string): Promise<void> {
    let pointing: Pointing;
    try {
      pointing = await this.pointing(domain);
    } catch (error) {
      if (!(error instanceof DnsFailure)) throw error;
      throw refusal('dns_failed', `The name servers gave no answer about ${domain}.`, {}, error);
    }
    if (pointing.points) return;
    const { found } = pointing;
    const expected = this.config.publicAddress;
    throw refusal('domain_not_pointing', this.notPointing(domain, found), { found, expected });
  }

  /** What is wrong with a domain that has these addresses, and what to do about it. */
  notPointing(domain: string, found: readonly string[]): string {
    const has = found.length === 0 ? 'has no address' : 'has addresses that are not of this platform';
    return `${domain} ${has}; point it to ${this.config.publicAddress.join(', ')}.`;
  }

  /** Whether all addresses of the domain are ours. `DnsFailure` when that cannot be told. */
  async pointing(domain: string): Promise<Pointing> {
    // RFC 6761: these names mean this machine, and no name server is asked.
    if (this.onLoopback && isWithin(domain, 'localhost')) return { points: true };
    const found = await this.dns.addresses(domain);
    const points = found.length > 0 && found.every((address) => this.ours.has(address));
    return points ? { points } : { points, found };
  }

  /** The record that an account proves a domain with. It is no secret: what counts is who can publish it. */
  proofOf(domain: string, accountId: string): DomainProof {
    const digest = createHash('sha256').update(`berth-site-domain:${domain}:${accountId}`).digest('hex');
    return { name: `_platform-verify.${domain}`, value: `berth-verify=${digest.slice(0, 40)}` };
  }

  /** Whether the domain's TXT records prove it to be the account's. `DnsFailure` when that cannot be told. */
  async provenNow(domain: string, accountId: string): Promise<boolean> {
    if (isWithin(domain, 'localhost')) return false;
    const { name, value } = this.proofOf(domain, accountId);
    return (await this.dns.texts(name)).includes(value);
  }

  /** The same, where no answer is no proof. */
  async isProven(domain: string, accountId: string): Promise<boolean> {
    try {
      return await this.provenNow(domain, accountId);
    } catch (error) {
      if (error instanceof DnsFailure) return false;
      throw error;
    }
  }
}

function refusal(code: string, detail: string, members: Record<string, unknown>, cause?: unknown): DomainError {
  const errors = [{ field: 'domain', pointer: '/domain', code, detail }];
  return new DomainError('bad_request', code, detail, { errors, members, cause });
}
