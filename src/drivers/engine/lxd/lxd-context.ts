import { dialectOf, type LxdDialect, type LxdServer } from './lxd-dialect.js';
import type { LxdOperations } from './lxd-operations.js';
import type { LxdTransport } from './lxd-transport.js';

/** What every group of calls of the adapter needs. */
export class LxdContext {
  private known: Promise<LxdDialect> | null = null;
  private readonly prefixes = new Map<string, number>();

  constructor(
    readonly transport: LxdTransport,
    readonly operations: LxdOperations,
    readonly project: string,
    readonly pool: string,
  ) {}

  async server(): Promise<LxdServer> {
    const server = await this.transport.get<LxdServer>('', { global: true });
    this.known ??= Promise.resolve(dialectOf(server));
    return server;
  }

  /** Asked once; an engine does not turn into another one. */
  dialect(): Promise<LxdDialect> {
    this.known ??= this.server().then(dialectOf);
    this.known.catch(() => (this.known = null));
    return this.known;
  }

  /** Prefix length of a network's addresses. */
  async prefixLength(network: string): Promise<number> {
    const found = this.prefixes.get(network);
    if (found !== undefined) return found;
    const { config } = await this.transport.get<{ config: Record<string, string> }>(
      `/networks/${encodeURIComponent(network)}`,
    );
    const length = Number(config['ipv4.address']?.split('/')[1] ?? 24);
    this.prefixes.set(network, length);
    return length;
  }
}
