import { promises as dns, type CaaRecord } from 'node:dns';
import { Injectable } from '@nestjs/common';
import { Config } from '../../config/config.js';
import { canonicalAddress } from '../http/client-address.js';

/** The name servers did not tell: they are away, or failed. */
export class DnsFailure extends Error {}

const TIMEOUT_MS = 3000;
const TRIES = 2;
/** The name servers say that there is no such thing: an answer like any other. */
const NONE = new Set(['ENOTFOUND', 'ENODATA']);

/** Asks the name servers of `DNS_SERVERS`, or those of the machine, and nothing else: neither hosts files nor caches. */
@Injectable()
export class DnsResolver {
  private readonly servers: string[];

  constructor(config: Config) {
    this.servers = config.dnsServers;
  }

  /** All addresses of a name, IPv4 and IPv6; none when there is no such name. `DnsFailure` when that cannot be told. */
  async addresses(name: string): Promise<string[]> {
    const found = await this.asking((resolver) =>
      Promise.all([answerOf(resolver.resolve4(name)), answerOf(resolver.resolve6(name))]),
    );
    return found.flat().map((address) => canonicalAddress(address) ?? address);
  }

  /** The TXT records of a name, each as one text. */
  async texts(name: string): Promise<string[]> {
    const records = await this.asking((resolver) => answerOf(resolver.resolveTxt(name)));
    return records.map((parts) => parts.join(''));
  }

  /** The CAA records of a name itself, not of those above it (RFC 8659). */
  async authorizations(name: string): Promise<CaaRecord[]> {
    return this.asking((resolver) => answerOf(resolver.resolveCaa(name)));
  }

  private async asking<T>(work: (resolver: dns.Resolver) => Promise<T>): Promise<T> {
    // One each: what one waits for is no business of another.
    const resolver = new dns.Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
    if (this.servers.length > 0) resolver.setServers(this.servers);
    try {
      return await work(resolver);
    } catch (error) {
      throw new DnsFailure('the name servers gave no answer', { cause: error });
    }
  }
}

async function answerOf<T>(question: Promise<T[]>): Promise<T[]> {
  try {
    return await question;
  } catch (error) {
    if (NONE.has((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}
