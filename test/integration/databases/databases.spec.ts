import type { Api } from '../../support/api.js';
import { startBerth, type Berth, type TestAccount } from '../../support/app.js';
import { tenantLink } from '../../support/database-host.js';
import { until } from '../../support/until.js';
import { asTenant, makeDatabase } from './support.js';

let berth: Berth;
let account: TestAccount;
let api: Api;

beforeAll(async () => {
  berth = await startBerth({ env: { DATABASE_QUERY_TIMEOUT_SECONDS: '2' } });
  account = await berth.makeAccount();
  ({ api } = account);
});
afterAll(() => berth?.close());

test('a service with a database: provisioned, listed, reached by its program, gone with the service', async () => {
  const made = await makeDatabase(api);
  const [entry] = (await api.get('/databases')).expect(200).body;
  expect(entry).toEqual({
    id: made.id,
    name: made.connection.database,
    serverId: made.serverId,
    host: made.connection.host,
    port: made.connection.port,
    status: 'READY',
    sizeBytes: 0,
    createdAt: expect.any(String),
  });
  const { host, port, database, username, password, uri } = made.connection;
  expect(uri).toBe(`mysql://${username}:${password}@${host}:${port}/${database}`);
  await asTenant(made.connection, async (program) => {
    await program.query('CREATE TABLE t (id int PRIMARY KEY)');
    await program.query('INSERT INTO t VALUES (1), (2)');
  });
  const { body } = (await api.post(`/databases/${made.id}/query`, { sql: 'SELECT id FROM t' })).expect(200);
  expect(body).toMatchObject({ columns: [{ name: 'id', type: 'INT' }], rows: [[1], [2]], rowCount: 2 });
  (await api.delete(`/servers/${made.serverId}`)).expect(204);
  (await api.get(`/servers/${made.serverId}/db-connection`)).expect(404);
  expect((await api.get('/databases')).expect(200).body).toEqual([]);
  await until('gone from the host', async () => !(await tenantLink().sizes()).has(database));
  await expect(asTenant(made.connection, async () => undefined)).rejects.toThrow(/Access denied/);
});
