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

/** Every statement of a tenant's begins with it, so it is one statement, and read without the mapper. */
const PLACED = `
  SELECT d.id, d.server_id AS serverId, d.host_id AS hostId, d.status, d.version, d.sealed_program AS sealedProgram,
         d.sealed_next AS sealedNext, d.sealed_platform AS sealedPlatform, d.size_bytes AS sizeBytes,
         d.created_at AS createdAt, h.name AS h_name, h.address AS h_address, h.port AS h_port,
         h.service_address AS h_serviceAddress, h.service_port AS h_servicePort, h.admin_user AS h_adminUser,
         h.sealed_password AS h_sealedPassword, h.ca_certificate AS h_caCertificate, h.capacity AS h_capacity,
         h.fault AS h_fault, h.checked_at AS h_checkedAt, h.created_at AS h_createdAt
    FROM service_databases d
    JOIN servers s ON s.id = d.server_id AND s.account_id = ? AND s.status <> 'DELETING'
    JOIN database_hosts h ON h.id = d.host_id`;

/** Look-ups of databases. Those for accounts never see another account's rows, nor those of a service that is being deleted. */
@Injectable()
export class DatabaseRepository {
  constructor(private readonly database: Database) {}

  async list(accountId: string, limit: number, before?: string): Promise<PlacedDatabase[]> {
    const [where, values] = before === undefined ? ['', []] : ['WHERE d.id < ?', [before]];
    const sql = `${PLACED} ${where} ORDER BY d.id DESC LIMIT ?`;
    const rows = await this.database.manager.query<PlacedRow[]>(sql, [accountId, ...values, limit]);
    return rows.map((row) => placedOf(row, accountId));
  }

  async findOwned(
    accountId: string,
    by: By,
    { manager }: Pick<Tx, 'manager'> = this.database,
  ): Promise<PlacedDatabase> {
    const [column, value] = 'id' in by ? ['d.id', by.id] : ['d.server_id', by.serverId];
    const [row] = await manager.query<PlacedRow[]>(`${PLACED} WHERE ${column} = ?`, [accountId, value]);
    if (!row) throw notFound();
    return placedOf(row, accountId);
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
}

type OfHost = Omit<RegisteredHost, 'id'>;
type PlacedRow = ServiceDatabase & { [K in keyof OfHost as `h_${K}`]: OfHost[K] };

function placedOf(row: PlacedRow, accountId: string): PlacedDatabase {
  const host: Record<string, unknown> = { id: row.hostId };
  const database: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(row)) {
    if (name.startsWith('h_')) host[name.slice(2)] = value;
    else database[name] = value;
  }
  database['sizeBytes'] = Number(row.sizeBytes);
  return { database: database as unknown as ServiceDatabase, host: host as unknown as RegisteredHost, accountId };
}
