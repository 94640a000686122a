import { Injectable } from '@nestjs/common';
import { Config } from '../../../config/config.js';
import { isDuplicate, type Tx } from '../../../platform/database/database.js';
import { unavailable } from '../../../platform/errors/domain-error.js';
import { newId } from '../../../platform/ids/id.js';
import { Allocation } from './allocation.entity.js';
import { AppAddress } from './app-address.entity.js';
import { reservedPorts } from './reserved-ports.js';

/** How long a released address rests before another service may get it. */
const QUARANTINE_MINUTES = 10;
const RANDOM_TRIES = 20;

/** Gives every service its address on the app network and its public port. The tables' unique keys are the claims. */
@Injectable()
export class NetworkLedger {
  private readonly subnet: Subnet;
  private readonly reserved: ReadonlySet<number>;

  constructor(private readonly config: Config) {
    this.subnet = parseSubnet(config.appSubnet);
    this.reserved = reservedPorts(config);
  }

  get gateway(): string {
    return formatIp(this.subnet.gateway);
  }

  /** Claims an address: one that has rested long enough, else the next never used, else the longest rested. */
  async claimAddress(tx: Tx, serverId: string): Promise<string> {
    const network = this.config.appNetwork;
    const rested = await this.reuse(
      tx,
      serverId,
      `released_at < UTC_TIMESTAMP(3) - INTERVAL ${QUARANTINE_MINUTES} MINUTE`,
    );
    if (rested !== null) return rested;
    for (;;) {
      const [row] = await tx.manager.query<{ last: string | number | null }[]>(
        'SELECT MAX(ip) AS last FROM app_addresses WHERE network = ? AND ip BETWEEN ? AND ?',
        [network, this.subnet.first, this.subnet.last],
      );
      let ip = row?.last == null ? this.subnet.first : Number(row.last) + 1;
      if (ip === this.subnet.gateway) ip++;
      if (ip > this.subnet.last) break;
      try {
        await tx.manager.insert(AppAddress, { network, ip, serverId, releasedAt: null });
        return formatIp(ip);
      } catch (error) {
        if (!isDuplicate(error, 'PRIMARY')) throw error;
      }
    }
    const oldest = await this.reuse(tx, serverId, 'released_at IS NOT NULL');
    if (oldest !== null) return oldest;
    throw unavailable('app_network', new Error('no address left in the app network'));
  }

  async addressOf(tx: Pick<Tx, 'manager'>, serverId: string): Promise<string> {
    const row = await tx.manager.findOneByOrFail(AppAddress, { serverId });
    return formatIp(row.ip);
  }

  async releaseAddress(tx: Tx, serverId: string): Promise<void> {
    await tx.manager.update(AppAddress, { serverId }, { serverId: null, releasedAt: () => 'UTC_TIMESTAMP(3)' });
  }

  /** Whether the operator gives this port to services at all. */
  mayGive(port: number): boolean {
    const { first, last } = this.config.portRange;
    return port >= first && port <= last && !this.reserved.has(port);
  }

  async claimPrimaryPort(tx: Tx, serverId: string): Promise<Allocation> {
    return this.claimFreePort(tx, { serverId, protocol: 'tcp', isPrimary: true });
  }

  /** Claims a free public port: a random one, or the first gap when the range is nearly full. */
  async claimFreePort(tx: Tx, wanted: WantedPort): Promise<Allocation> {
    const { first, last } = this.config.portRange;
    for (let attempt = 0; attempt < RANDOM_TRIES; attempt++) {
      const port = first + Math.floor(Math.random() * (last - first + 1));
      const allocation = this.mayGive(port) ? await this.claimPort(tx, wanted, port) : null;
      if (allocation) return allocation;
    }
    const taken = await tx.manager.find(Allocation, {
      select: { id: true, port: true },
      where: { ip: this.publicIp, protocol: wanted.protocol },
    });
    const ports = new Set(taken.map((allocation) => allocation.port));
    for (let port = first; port <= last; port++) {
      const free = this.mayGive(port) && !ports.has(port);
      const allocation = free ? await this.claimPort(tx, wanted, port) : null;
      if (allocation) return allocation;
    }
    throw unavailable('ports', new Error('no public port left in PORT_RANGE'));
  }

  /** Claims this very port; null when somebody has it. */
  async claimPort(tx: Tx, wanted: WantedPort, port: number): Promise<Allocation | null> {
    const allocation = tx.manager.create(Allocation, {
      ...wanted,
      id: newId('alc'),
      ip: this.publicIp,
      port,
      active: true,
      rateLimit: 0,
      removing: false,
      createdAt: new Date(),
    });
    try {
      await tx.manager.insert(Allocation, allocation);
      // The driver writes the database's own word for true into columns that have a default.
      return Object.assign(allocation, { active: true, removing: false });
    } catch (error) {
      if (isDuplicate(error, 'uq_allocations_port')) return null;
      throw error;
    }
  }

  private get publicIp(): string {
    return this.config.publicAddress[0]!;
  }

  private async reuse(tx: Tx, serverId: string, condition: string): Promise<string | null> {
    const reused = await tx.manager.query<{ affectedRows: number }>(
      `UPDATE app_addresses SET server_id = ?, released_at = NULL
        WHERE network = ? AND ip BETWEEN ? AND ? AND server_id IS NULL AND ${condition} ORDER BY released_at LIMIT 1`,
      [serverId, this.config.appNetwork, this.subnet.first, this.subnet.last],
    );
    return reused.affectedRows === 1 ? this.addressOf(tx, serverId) : null;
  }
}

export type WantedPort = Pick<Allocation, 'serverId' | 'protocol' | 'isPrimary'>;

interface Subnet {
  gateway: number;
  /** First and last address that may be given out. */
  first: number;
  last: number;
}

function parseSubnet(text: string): Subnet {
  const [ip = '', prefix = ''] = text.split('/');
  const gateway = ip.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  const size = 2 ** (32 - Number(prefix));
  const network = Math.floor(gateway / size) * size;
  return { gateway, first: network + 1, last: network + size - 2 };
}

export function formatIp(ip: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(ip / 2 ** shift) % 256).join('.');
}
