import { Injectable } from '@nestjs/common';
import { Config } from '../../config/config.js';
import { isDuplicate, type Tx } from '../../platform/database/database.js';
import { unavailable } from '../../platform/errors/domain-error.js';
import type { Protocol } from '../../platform/network/protocol.js';
import { PortClaim } from './port-claim.entity.js';
import { reservedPorts } from './reserved-ports.js';

/** The row that a port is claimed for. It has to be there already, and the claim ends with it. */
export type PortHolder = { allocationId: string } | { machinePortId: string };

const RANDOM_TRIES = 20;

/** Gives out the public ports of PORT_RANGE. The table's primary key is the claim: nobody else can hold the same. */
@Injectable()
export class PortLedger {
  private readonly reserved: ReadonlySet<number>;

  constructor(private readonly config: Config) {
    this.reserved = reservedPorts(config);
  }

  /** The address that ports are opened on. */
  get publicIp(): string {
    return this.config.publicAddress[0]!;
  }

  /** Whether the operator gives this port to anybody at all. */
  mayGive(port: number): boolean {
    const { first, last } = this.config.portRange;
    return port >= first && port <= last && !this.reserved.has(port);
  }

  /** False when somebody has this port. */
  async claim(tx: Tx, protocol: Protocol, port: number, holder: PortHolder): Promise<boolean> {
    try {
      await tx.manager.insert(PortClaim, { ip: this.publicIp, protocol, port, ...holder });
      return true;
    } catch (error) {
      if (isDuplicate(error, 'PRIMARY')) return false;
      throw error;
    }
  }

  /** Tries free ports, random ones and then the first gaps, until `take` answers that it got one. */
  async claimFree<T>(tx: Tx, protocol: Protocol, take: (port: number) => Promise<T | null>): Promise<T> {
    const { first, last } = this.config.portRange;
    for (let attempt = 0; attempt < RANDOM_TRIES; attempt++) {
      const port = first + Math.floor(Math.random() * (last - first + 1));
      const taken = this.mayGive(port) ? await take(port) : null;
      if (taken) return taken;
    }
    const claims = await tx.manager.find(PortClaim, { select: { port: true }, where: { ip: this.publicIp, protocol } });
    const ports = new Set(claims.map((claim) => claim.port));
    for (let port = first; port <= last; port++) {
      const taken = this.mayGive(port) && !ports.has(port) ? await take(port) : null;
      if (taken) return taken;
    }
    throw unavailable('ports', new Error('no public port left in PORT_RANGE'));
  }
}
