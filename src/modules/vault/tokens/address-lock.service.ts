import { Injectable } from '@nestjs/common';
import { isIP } from 'node:net';
import { Config } from '../../../config/config.js';
import { AddressSet } from '../../../platform/http/client-address.js';
import { NodesService } from '../../nodes/nodes.service.js';

const FRESH_MS = 5000;

/**
 * Where tokens with an address lock work from: the addresses of the nodes, and what the operator allows besides. All programs
 * of a node leave by its address, so the lock means "from the platform", not "from this program".
 */
@Injectable()
export class AddressLock {
  private known: { allowed: Promise<AddressSet>; until: number } | undefined;

  constructor(
    private readonly nodes: NodesService,
    private readonly config: Config,
  ) {}

  async allows(address: string): Promise<boolean> {
    if (isIP(address) === 0) return false;
    if (!this.known || this.known.until < Date.now()) {
      const allowed = this.read();
      const known = { allowed, until: Date.now() + FRESH_MS };
      this.known = known;
      allowed.catch(() => this.known === known && (this.known = undefined));
    }
    return (await this.known.allowed).has(address);
  }

  private async read(): Promise<AddressSet> {
    const nodes = await this.nodes.list();
    const addresses = nodes.flatMap(({ address }) => address ?? []);
    return new AddressSet([...addresses, ...this.config.vaultAllowedAddresses]);
  }
}
