import { createConnection, type Connection } from 'mysql2/promise';
import type { Answer, Api } from '../../support/api.js';
import { loadConfig } from '../../../src/config/config.js';
import { createDatabaseHosts } from '../../../src/drivers/database-host/database-host.factory.js';
import type { DatabaseHosts } from '../../../src/drivers/database-host/database-host.js';
import { DatabasePasswords } from '../../../src/modules/databases/database-passwords.js';
import { DatabaseRepository } from '../../../src/modules/databases/database.repository.js';
import { HostLinks } from '../../../src/modules/databases/lifecycle/host-links.js';
import { SessionReaperWorker } from '../../../src/modules/databases/session-reaper.worker.js';
import { DatabaseKeeperWorker } from '../../../src/modules/databases/database-keeper.worker.js';
import { DatabaseReconcilerWorker } from '../../../src/modules/databases/database-reconciler.worker.js';
import { EventRecorder } from '../../../src/platform/events/event-recorder.js';
import { metrics } from '../../../src/platform/observability/metrics.js';
import { createLogger } from '../../../src/platform/observability/logger.js';
import type { Berth } from '../../support/app.js';
import { tenantHost, TestDatabaseHosts } from '../../support/database-host.js';

export interface TestConnection {
  host: string;
  port: number;
  database: string;
  username: string;
  password: string;
  uri: string;
}

export interface TestDatabaseOf {
  id: string;
  serverId: string;
  connection: TestConnection;
}

export const WITH_DATABASE = {
  name: 'with a database',
  runtime: 'nodejs',
  ram: 128,
  disk: 512,
  cpu: 25,
  withDatabase: true,
};

/** A service that runs, with its database. */
export async function makeDatabase(api: Api): Promise<TestDatabaseOf> {
  const { id: serverId } = (await api.post('/servers', WITH_DATABASE)).expect(201).body as { id: string };
  await api.waitFor(`/servers/${serverId}`, 'RUNNING');
  const connection = await connectionOf(api, serverId);
  const list = (await api.get('/databases')).expect(200).body as { id: string; serverId: string }[];
  return { id: list.find((entry) => entry.serverId === serverId)!.id, serverId, connection };
}

export async function connectionOf(api: Api, serverId: string): Promise<TestConnection> {
  return (await api.get(`/servers/${serverId}/db-connection`)).expect(200).body as TestConnection;
}

export function query(api: Api, id: string, sql: string): Promise<Answer> {
  return api.post(`/databases/${id}/query`, { sql });
}

/** The body of a statement that was run. */
export async function run(api: Api, id: string, sql: string): Promise<any> {
  return (await query(api, id, sql)).expect(200).body;
}

/** As the program of a service connects; it need not be in a container for that. */
export async function asTenant<T>(connection: TestConnection, work: (program: Connection) => Promise<T>): Promise<T> {
  const { username: user, password, database, port } = connection;
  return connected({ host: '127.0.0.1', port, user, password, database }, work);
}

/** As whoever runs the host. */
export async function asHost<T>(work: (host: Connection) => Promise<T>): Promise<T> {
  const { address: host, port, user, password } = tenantHost();
  return connected({ host, port, user, password }, work);
}

async function connected<T>(
  options: { host: string; port: number; user: string; password: string; database?: string },
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await createConnection({ ...options, rowsAsArray: true, charset: 'utf8mb4_unicode_ci' });
  connection.on('error', () => undefined);
  try {
    return await work(connection);
  } finally {
    connection.destroy();
  }
}

/** What the workers are made of; what they do in turns of their own is done when a test says so. */
function parts(berth: Berth, hosts: DatabaseHosts = createDatabaseHosts()) {
  const config = loadConfig(berth.env, '/dev/null');
  const { database } = berth.database;
  const links = new HostLinks(hosts, new DatabasePasswords(config));
  const log = createLogger({ logLevel: 'fatal' });
  return { config, database, links, log, databases: new DatabaseRepository(database) };
}

export function reaperOf(berth: Berth, hosts?: DatabaseHosts): SessionReaperWorker {
  const { config, links, log, databases } = parts(berth, hosts);
  return new SessionReaperWorker(config, databases, links, log);
}

export function keeperOf(berth: Berth): DatabaseKeeperWorker {
  const { config, database, links, log, databases } = parts(berth);
  const { registration } = new TestDatabaseHosts(database, berth.env);
  return new DatabaseKeeperWorker(config, database, databases, registration, links, new EventRecorder(database), log);
}

export function reconcilerOf(berth: Berth): DatabaseReconcilerWorker {
  const { database, links, log, databases } = parts(berth);
  return new DatabaseReconcilerWorker(database, databases, links, log, metrics);
}
