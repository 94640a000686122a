import { lookup } from 'node:dns/promises';
import { isIPv4 } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { DatabaseAddress } from '../../platform/internal-api/internal-api.contract.js';
import type { DatabasePlace } from './service-rules.js';

/** Other rules do not wait any longer for a name. */
const DEADLINE_MS = 2000;

/** The addresses of hosts of databases. What a name led to last holds while nobody answers. */
export class DatabasePlaces {
  private known = new Map<string, string[]>();

  /** Whether some name has never led anywhere yet. */
  get incomplete(): boolean {
    return [...this.known.values()].some((addresses) => addresses.length === 0);
  }

  async of(databases: readonly DatabaseAddress[]): Promise<DatabasePlace[]> {
    const hosts = [...new Set(databases.map(({ host }) => host))];
    this.known = new Map(await Promise.all(hosts.map(async (host) => [host, await this.resolve(host)] as const)));
    return databases.flatMap(({ host, port }) => this.known.get(host)!.map((ip) => ({ ip, port })));
  }

  private async resolve(host: string): Promise<string[]> {
    if (isIPv4(host)) return [host];
    const before = this.known.get(host) ?? [];
    const found = lookup(host, { all: true, family: 4 }).then(
      (list) => list.map(({ address }) => address).sort(),
      () => before,
    );
    return Promise.race([found, wait(DEADLINE_MS, before, { ref: false })]);
  }
}
