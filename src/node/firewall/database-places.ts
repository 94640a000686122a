import { lookup } from 'node:dns/promises';
import { isIPv4 } from 'node:net';
import type { DatabaseAddress } from '../../platform/internal-api/internal-api.contract.js';
import type { DatabasePlace } from './service-rules.js';

/** The addresses of hosts of databases. What a name led to last holds while nobody answers. */
export class DatabasePlaces {
  private known = new Map<string, string[]>();

  async of(databases: readonly DatabaseAddress[]): Promise<DatabasePlace[]> {
    const hosts = [...new Set(databases.map(({ host }) => host))];
    this.known = new Map(await Promise.all(hosts.map(async (host) => [host, await this.resolve(host)] as const)));
    return databases.flatMap(({ host, port }) => this.known.get(host)!.map((ip) => ({ ip, port })));
  }

  private async resolve(host: string): Promise<string[]> {
    if (isIPv4(host)) return [host];
    try {
      const found = await lookup(host, { all: true, family: 4 });
      return found.map(({ address }) => address).sort();
    } catch {
      return this.known.get(host) ?? [];
    }
  }
}
