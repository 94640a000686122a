import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '../../platform/database/database.js';
import { notFound } from '../../platform/errors/domain-error.js';
import { RegisteredHost } from './hosts/registered-host.entity.js';
import { ServiceDatabase } from './service-database.entity.js';

/** A database, where it lives, and whose it is. */
export interface PlacedDatabase {
  database: ServiceDatabase;
  host: RegisteredHost;
  accountId: string;
}

type By = { id: string } | { serverId: string };

/** Look-ups of databases. Those for accounts never see another account's rows, nor those of a service that is being deleted. */
@Injectable()
export class DatabaseRepository {
  constructor(private readonly database: Database) {}

  async list(accountId: string, limit: number, before?: string): Promise<PlacedDatabase[]> {
    const query = this.placed(this.database, accountId).orderBy('d.id', 'DESC').limit(limit);
    if (before !== undefined) query.andWhere('d.id < :before', { before });
    return (await query.getMany()).map((database) => placedOf(database, accountId));
  }

  async findOwned(accountId: string, by: By, tx: Pick<Tx, 'manager'> = this.database): Promise<PlacedDatabase> {
    const query = this.placed(tx, accountId);
    if ('id' in by) query.andWhere('d.id = :id', by);
    else query.andWhere('d.server_id = :serverId', by);
    const database = await query.getOne();
    if (!database) throw notFound();
    return placedOf(database, accountId);
  }

  /** The same, holding the row until the transaction ends. */
  async lockOwned(tx: Tx, accountId: string, by: By): Promise<PlacedDatabase> {
    const { database } = await this.findOwned(accountId, by, tx);
    const { id } = database;
    await tx.manager.findOneOrFail(ServiceDatabase, { where: { id }, lock: { mode: 'pessimistic_write' } });
    return this.findOwned(accountId, { id }, tx);
  }

  /** For the platform's own use, whoever owns it; null when the service has none. */
  async ofServer(serverId: string): Promise<{ database: ServiceDatabase; host: RegisteredHost } | null> {
    const database = await this.database.manager.findOneBy(ServiceDatabase, { serverId });
    return database && { database, host: await this.host(database.hostId) };
  }

  async find(id: string): Promise<ServiceDatabase | null> {
    return this.database.manager.findOneBy(ServiceDatabase, { id });
  }

  host(id: string): Promise<RegisteredHost> {
    return this.database.manager.findOneByOrFail(RegisteredHost, { id });
  }

  hosts(): Promise<RegisteredHost[]> {
    return this.database.manager.find(RegisteredHost, { order: { id: 'ASC' } });
  }

  onHost(hostId: string): Promise<ServiceDatabase[]> {
    return this.database.manager.findBy(ServiceDatabase, { hostId });
  }

  private placed({ manager }: Pick<Tx, 'manager'>, accountId: string) {
    return manager
      .createQueryBuilder(ServiceDatabase, 'd')
      .innerJoin('servers', 's', "s.id = d.server_id AND s.status <> 'DELETING'")
      .innerJoinAndMapOne('d.host', RegisteredHost, 'h', 'h.id = d.host_id')
      .where('s.account_id = :accountId', { accountId });
  }
}

function placedOf(database: ServiceDatabase, accountId: string): PlacedDatabase {
  const { host } = database as ServiceDatabase & { host: RegisteredHost };
  return { database, host, accountId };
}
