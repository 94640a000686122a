import { Injectable } from '@nestjs/common';
import { LessThan, Not } from 'typeorm';
import { Database, type Tx } from '../../platform/database/database.js';
import { notFound } from '../../platform/errors/domain-error.js';
import { Allocation } from './allocations/allocation.entity.js';
import { Server } from './server.entity.js';
import type { ServerStatus } from './server-status.js';

export interface ServerUsageSums {
  servers: number;
  ram: number;
  disk: number;
  cpu: number;
  databases: number;
}

/** Look-ups of services. Those for accounts never see another account's rows, nor what is being deleted. */
@Injectable()
export class ServerRepository {
  constructor(private readonly database: Database) {}

  async list(accountId: string, limit: number, before?: string): Promise<Server[]> {
    return this.database.manager.find(Server, {
      where: {
        accountId,
        status: Not<ServerStatus>('DELETING'),
        ...(before === undefined ? {} : { id: LessThan(before) }),
      },
      order: { id: 'DESC' },
      take: limit,
    });
  }

  async findOwned(accountId: string, id: string): Promise<Server> {
    const server = await this.database.manager.findOneBy(Server, {
      id,
      accountId,
      status: Not<ServerStatus>('DELETING'),
    });
    if (!server) throw notFound();
    return server;
  }

  /** The same, holding the row until the transaction ends. */
  async lockOwned(tx: Tx, accountId: string, id: string): Promise<Server> {
    const server = await tx.manager.findOne(Server, {
      where: { id, accountId, status: Not<ServerStatus>('DELETING') },
      lock: { mode: 'pessimistic_write' },
    });
    if (!server) throw notFound();
    return server;
  }

  /** The row for the platform's own use, whoever owns it. */
  async lock(tx: Tx, id: string): Promise<Server | null> {
    return tx.manager.findOne(Server, { where: { id }, lock: { mode: 'pessimistic_write' } });
  }

  async find(id: string): Promise<Server | null> {
    return this.database.manager.findOneBy(Server, { id });
  }

  /** The row of a service that is known to exist. */
  async require(id: string): Promise<Server> {
    return this.database.manager.findOneByOrFail(Server, { id });
  }

  async allocations(serverId: string): Promise<Allocation[]> {
    return this.database.manager.find(Allocation, {
      where: { serverId, removing: false },
      order: { isPrimary: 'DESC', id: 'ASC' },
    });
  }

  /** What the account has in use, but for `exceptId`. Meaningful for quotas only under the account's lock. */
  async sums(tx: Tx, accountId: string, exceptId = ''): Promise<ServerUsageSums> {
    const [row] = await tx.manager.query<Record<keyof ServerUsageSums, string | number>[]>(
      `SELECT COUNT(*) AS servers, COALESCE(SUM(ram), 0) AS ram, COALESCE(SUM(disk), 0) AS disk, COALESCE(SUM(cpu), 0) AS cpu,
              COUNT(d.id) AS \`databases\`
         FROM servers s LEFT JOIN service_databases d ON d.server_id = s.id
        WHERE s.account_id = ? AND s.id <> ? AND s.status <> 'DELETING'`,
      [accountId, exceptId],
    );
    return {
      servers: Number(row!.servers),
      ram: Number(row!.ram),
      disk: Number(row!.disk),
      cpu: Number(row!.cpu),
      databases: Number(row!.databases),
    };
  }
}
