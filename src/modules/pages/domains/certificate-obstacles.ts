import { Injectable } from '@nestjs/common';
import { DnsFailure, DnsResolver } from '../../../platform/dns/dns-resolver.js';
import { DomainCheck } from './domain-check.service.js';
import { isWithin } from './domain-name.js';

/** For all questions about one domain, of which each has a time of its own. */
const DEADLINE_MS = 10_000;

/**
 * Finds what would have a certificate authority refuse a domain. Each attempt that fails counts there, and the edge lets a
 * while pass before the next one, so one that cannot succeed is better not made.
 */
@Injectable()
export class CertificateObstacles {
  constructor(
    private readonly check: DomainCheck,
    private readonly dns: DnsResolver,
  ) {}

  /** Null where there is none. `authority`: its names in CAA records, empty if unknown. */
  async find(domain: string, authority: readonly string[]): Promise<string | null> {
    try {
      const pointing = await this.check.pointing(domain);
      if (!pointing.points) return this.check.notPointing(domain, pointing.found);
      return authority.length === 0 ? null : await this.refusal(domain, authority);
    } catch (error) {
      if (error instanceof DnsFailure) return `The name servers of ${domain} do not answer.`;
      throw error;
    }
  }

  /** RFC 8659: what counts are the CAA records of the nearest name that has any, the domain's own or one above it. */
  private async refusal(domain: string, authority: readonly string[]): Promise<string | null> {
    if (isWithin(domain, 'localhost')) return null;
    const deadline = Date.now() + DEADLINE_MS;
    for (let name = domain; name !== ''; name = name.slice(`${name.split('.', 1)[0]!}.`.length)) {
      if (Date.now() > deadline) throw new DnsFailure('the name servers take too long');
      const records = await this.dns.authorizations(name);
      if (records.length === 0) continue;
      const issuers = records.flatMap(({ issue }) => (issue === undefined ? [] : issue.split(';', 1)[0]!.trim()));
      if (issuers.length === 0 || issuers.some((issuer) => authority.includes(issuer.toLowerCase()))) return null;
      const allowed = issuers.filter((issuer) => issuer !== '').join(', ') || 'nobody';
      return `The CAA records of ${name} let ${allowed} issue certificates, and not ${authority.join(' or ')}.`;
    }
    return null;
  }
}
