import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { Config } from '../../config/config.js';
import { Database, type Tx } from '../../platform/database/database.js';
import { AddressPool } from '../../platform/network/address-pool.js';
import { formatIp } from '../../platform/network/subnet.js';
import { MachineAddress } from './machine-address.entity.js';

/** Gives every machine its address on the machines' own network. */
@Injectable()
export class MachineNetwork {
  private readonly addresses: AddressPool;

  constructor(
    config: Config,
    private readonly database: Database,
  ) {
    const table = { name: 'machine_addresses', holder: 'machine_id' };
    this.addresses = new AddressPool(table, config.machineNetwork, config.machineSubnet);
  }

  claim(tx: Tx, machineId: string): Promise<string> {
    return this.addresses.claim(tx, machineId);
  }

  addressOf(machineId: string): Promise<string> {
    return this.addresses.addressOf(this.database, machineId);
  }

  async addressesOf(machineIds: string[]): Promise<Map<string, string>> {
    if (machineIds.length === 0) return new Map();
    const rows = await this.database.manager.findBy(MachineAddress, { machineId: In(machineIds) });
    return new Map(rows.map(({ machineId, ip }) => [machineId!, formatIp(ip)]));
  }

  release(tx: Tx, machineId: string): Promise<void> {
    return this.addresses.release(tx, machineId);
  }
}
