import { startBerth, type Berth, type TestAccount } from '../support/app.js';
import { tenantLink } from '../support/database-host.js';
import { stack } from '../support/stack.js';
import { until } from '../support/until.js';
import { connectionOf, keeperOf, makeDatabase, query, run, WITH_DATABASE } from '../integration/databases/support.js';

let berth: Berth;
let account: TestAccount;

beforeAll(async () => {
  berth = await startBerth({ env: { OPERATION_LEASE_SECONDS: '2' } });
  account = await berth.makeAccount();
});
afterAll(async () => {
  await stack.tenantMariadb.start();
  await berth?.close();
});

test('the host of databases dies under a statement and comes back', async () => {
  const { api } = account;
  const own = await makeDatabase(api);
  await run(api, own.id, 'CREATE TABLE t (a int) SELECT 1 AS a');
  const running = query(api, own.id, 'SELECT SLEEP(20)');
  await until('it runs', async () => {
    const { body } = await query(api, own.id, 'SELECT COUNT(*) FROM information_schema.processlist');
    return body.rows?.[0][0] === '2';
  });
  await stack.tenantMariadb.kill();

  const lost = (await running).expect(503);
  expect([lost.body.code, lost.header('retry-after')]).toEqual(['database_host_unavailable', expect.any(String)]);
  (await query(api, own.id, 'SELECT 1')).expect(503);
  (await api.get(`/databases/${own.id}/tables`)).expect(503);
  (await api.post(`/databases/${own.id}/import`, { sql: 'SELECT 1' })).expect(503);
  (await api.post(`/databases/${own.id}/export`)).expect(503);
  // What the platform knows by itself it goes on telling.
  expect((await api.get('/databases')).expect(200).body).toHaveLength(1);
  expect(await connectionOf(api, own.serverId)).toEqual(own.connection);

  // What waits for the host is done when it is back: a creation, a password, a deletion.
  const { id: created } = (await api.post('/servers', WITH_DATABASE)).expect(201).body as { id: string };
  const { id: ended } = (await api.post('/servers', WITH_DATABASE)).expect(201).body as { id: string };
  const gone = await connectionOf(api, ended);
  (await api.delete(`/servers/${ended}`)).expect(204);
  const path = `/servers/${own.serverId}/db-connection/rotate-password`;
  const { operationId } = (await api.post(path)).expect(202).body as { operationId: string };
  expect((await api.get(`/servers/${created}`)).expect(200).body.status).toBe('INSTALLING');
  await keeperOf(berth).pass();
  const refused = (await api.post('/servers', WITH_DATABASE)).expect(503);
  expect(refused.body.code).toBe('database_host_unavailable');

  await stack.tenantMariadb.start();
  await keeperOf(berth).pass();
  await api.waitFor(`/servers/${created}`, 'RUNNING');
  await api.waitFor(`/operations/${operationId}`, 'DONE');
  expect((await run(api, own.id, 'SELECT a FROM t')).rows).toEqual([[1]]);
  const database = (await connectionOf(api, created)).database;
  await until('all as it must be', async () => {
    const present = await tenantLink().sizes();
    return present.has(database) && !present.has(gone.database);
  });
  await until('no row is left over', async () => {
    const rows = await berth.database.query('SELECT id FROM service_databases');
    return rows.length === 2;
  });
});
