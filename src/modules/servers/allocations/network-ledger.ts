import { Injectable } from '@nestjs/common';
import { Config } from '../../../config/config.js';
import { isDuplicate, type Tx } from '../../../platform/database/database.js';
import { newId } from '../../../platform/ids/id.js';
import { AddressPool } from '../../../platform/network/address-pool.js';
import { PortLedger } from '../../ports/port-ledger.service.js';
import { Allocation } from './allocation.entity.js';

/** Gives every service its address on the app network and its public port. The tables' unique keys are the claims. */
@Injectable()
export class NetworkLedger {
  private readonly addresses: AddressPool;

  constructor(
    config: Config,
    private readonly ports: PortLedger,
  ) {
    this.addresses = new AddressPool(
      { name: 'app_addresses', holder: 'server_id' },
      config.appNetwork,
      config.appSubnet,
    );
  }

  get gateway(): string {
    return this.addresses.gateway;
  }

  claimAddress(tx: Tx, serverId: string): Promise<string> {
    return this.addresses.claim(tx, serverId);
  }

  addressOf(tx: Pick<Tx, 'manager'>, serverId: string): Promise<string> {
    return this.addresses.addressOf(tx, serverId);
  }

  releaseAddress(tx: Tx, serverId: string): Promise<void> {
    return this.addresses.release(tx, serverId);
  }

  /** Whether the operator gives this port to services at all. */
  mayGive(port: number): boolean {
    return this.ports.mayGive(port);
  }

  async claimPrimaryPort(tx: Tx, serverId: string): Promise<Allocation> {
    return this.claimFreePort(tx, { serverId, protocol: 'tcp', isPrimary: true });
  }

  /** Claims a free public port: a random one, or the first gap when the range is nearly full. */
  claimFreePort(tx: Tx, wanted: WantedPort): Promise<Allocation> {
    return this.ports.claimFree(tx, wanted.protocol, (port) => this.claimPort(tx, wanted, port));
  }

  /** Claims this very port; null when somebody has it. */
  async claimPort(tx: Tx, wanted: WantedPort, port: number): Promise<Allocation | null> {
    const allocation = tx.manager.create(Allocation, {
      ...wanted,
      id: newId('alc'),
      ip: this.ports.publicIp,
      port,
      active: true,
      rateLimit: 0,
      removing: false,
      createdAt: new Date(),
    });
    try {
      await tx.manager.insert(Allocation, allocation);
    } catch (error) {
      if (isDuplicate(error, 'uq_allocations_port')) return null;
      throw error;
    }
    if (!(await this.ports.claim(tx, wanted.protocol, port, { allocationId: allocation.id }))) {
      await tx.manager.delete(Allocation, { id: allocation.id });
      return null;
    }
    // The driver writes the database's own word for true into columns that have a default.
    return Object.assign(allocation, { active: true, removing: false });
  }
}

export type WantedPort = Pick<Allocation, 'serverId' | 'protocol' | 'isPrimary'>;
