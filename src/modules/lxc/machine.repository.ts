import { Injectable } from '@nestjs/common';
import { In, Not } from 'typeorm';
import { Database, type Tx } from '../../platform/database/database.js';
import { notFound } from '../../platform/errors/domain-error.js';
import type { MachineStatus } from './machine-status.js';
import { Machine } from './machine.entity.js';
import { MachinePort } from './ports/machine-port.entity.js';

const GONE = Not<MachineStatus>('DELETING');

/** Look-ups of machines. Those for accounts never see another account's rows, nor what is being deleted. */
@Injectable()
export class MachineRepository {
  constructor(private readonly database: Database) {}

  /** Newest first. There are as many as the plan allows, so the list is whole. */
  async list(accountId: string): Promise<Machine[]> {
    return this.database.manager.find(Machine, { where: { accountId, status: GONE }, order: { id: 'DESC' } });
  }

  async findOwned(accountId: string, id: string): Promise<Machine> {
    const machine = await this.database.manager.findOneBy(Machine, { id, accountId, status: GONE });
    if (!machine) throw notFound();
    return machine;
  }

  /** The same, holding the row until the transaction ends. */
  async lockOwned(tx: Tx, accountId: string, id: string): Promise<Machine> {
    const machine = await tx.manager.findOne(Machine, {
      where: { id, accountId, status: GONE },
      lock: { mode: 'pessimistic_write' },
    });
    if (!machine) throw notFound();
    return machine;
  }

  /** The row for the platform's own use, whoever owns it. */
  async lock(tx: Tx, id: string): Promise<Machine | null> {
    return tx.manager.findOne(Machine, { where: { id }, lock: { mode: 'pessimistic_write' } });
  }

  async find(id: string): Promise<Machine | null> {
    return this.database.manager.findOneBy(Machine, { id });
  }

  /** The row of a machine that is known to exist. */
  async require(id: string): Promise<Machine> {
    return this.database.manager.findOneByOrFail(Machine, { id });
  }

  /** Meaningful for quotas only under the account's lock. */
  async count(tx: Tx, accountId: string): Promise<number> {
    return tx.manager.countBy(Machine, { accountId, status: GONE });
  }

  /** The ports that machines have or are about to have, by machine. */
  async portsOf(ids: string[]): Promise<Map<string, MachinePort[]>> {
    if (ids.length === 0) return new Map();
    const ports = await this.database.manager.find(MachinePort, {
      where: { machineId: In(ids), status: In(['PENDING', 'ACTIVE']) },
      order: { id: 'ASC' },
    });
    return Map.groupBy(ports, ({ machineId }) => machineId);
  }

  async ports(id: string): Promise<MachinePort[]> {
    return (await this.portsOf([id])).get(id) ?? [];
  }
}
