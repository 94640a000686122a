import { readFileSync } from 'node:fs';
import type { Api } from '../../support/api.js';
import { startBerth, type Berth, type TestAccount } from '../../support/app.js';
import { tenantLink, TestDatabaseHosts } from '../../support/database-host.js';
import { until } from '../../support/until.js';
import {
  asHost,
  asTenant,
  connectionOf,
  keeperOf,
  makeDatabase,
  query,
  reconcilerOf,
  run,
  WITH_DATABASE,
  type TestDatabaseOf,
} from './support.js';

let berth: Berth;
let account: TestAccount;
let api: Api;
let shared: TestDatabaseOf;

beforeAll(async () => {
  berth = await startBerth({ env: { DATABASE_QUERY_TIMEOUT_SECONDS: '20' } });
  account = await berth.makeAccount();
  ({ api } = account);
  shared = await makeDatabase((await berth.makeAccount()).api);
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

describe('results', () => {
  let tenant: TestAccount;
  let own: TestDatabaseOf;
  const sql = (text: string) => run(tenant.api, own.id, text);

  beforeAll(async () => {
    tenant = await berth.makeAccount();
    own = await makeDatabase(tenant.api);
  });

  test('values come as they are, exact ones as text', async () => {
    await sql(`CREATE TABLE v (
      big bigint, ubig bigint unsigned, i int, tiny tinyint(1), amount decimal(40, 20), d double, f float, bits bit(40),
      day date, at datetime(6), stamp timestamp(3) NULL, span time, y year, word varchar(40), body text, raw varbinary(9),
      photo blob, doc json, kind enum('a', 'b'), tags set('x', 'y'), place point)`);
    const inserted = await sql(
      `INSERT INTO v VALUES (
      -9223372036854775808, 18446744073709551615, -5, 1, 0.10000000000000000001, 1.7976931348623157e308, 0.1, b'1111111111111111111111111111111111111111',
      '2020-02-29', '0000-00-00 00:00:00' + INTERVAL 0 DAY, '2020-01-02 03:04:05.678', '-838:59:59', 2020, 'é😀', 'x', X'00FF', X'C328', '{"a": 9007199254740993}', 'b', 'x,y', POINT(1, 2))`.replace(
        "'0000-00-00 00:00:00' + INTERVAL 0 DAY",
        "'1000-01-01 00:00:00.000001'",
      ),
    );
    expect(inserted).toMatchObject({
      columns: [],
      rows: [],
      rowCount: 0,
      affectedRows: 1,
      insertId: null,
      truncated: false,
    });
    const { columns, rows } = await sql('SELECT * FROM v');
    expect(columns.map(({ name, type }: { name: string; type: string }) => `${name} ${type}`)).toEqual([
      'big BIGINT',
      'ubig BIGINT UNSIGNED',
      'i INT',
      'tiny TINYINT',
      'amount DECIMAL',
      'd DOUBLE',
      'f FLOAT',
      'bits BIT',
      'day DATE',
      'at DATETIME',
      'stamp TIMESTAMP',
      'span TIME',
      'y YEAR',
      'word VARCHAR',
      'body TEXT',
      'raw VARBINARY',
      'photo BLOB',
      'doc TEXT',
      'kind ENUM',
      'tags SET',
      'place GEOMETRY',
    ]);
    expect(rows).toEqual([
      [
        '-9223372036854775808',
        '18446744073709551615',
        -5,
        1,
        '0.10000000000000000001',
        1.7976931348623157e308,
        0.1,
        '1099511627775',
        '2020-02-29',
        '1000-01-01 00:00:00.000001',
        '2020-01-02 03:04:05.678',
        '-838:59:59',
        2020,
        'é😀',
        'x',
        'AP8=',
        'wyg=',
        '{"a": 9007199254740993}',
        'b',
        'x,y',
        expect.stringMatching(/^[A-Za-z0-9+/]+=*$/),
      ],
    ]);
    expect((await sql("SELECT NULL AS n, '' AS e, CAST('0000-00-00' AS date) AS z")).rows).toEqual([
      [null, '', '0000-00-00'],
    ]);
  });

  test('what a statement changed is told', async () => {
    await sql('CREATE TABLE counted (id bigint unsigned AUTO_INCREMENT PRIMARY KEY, n int)');
    expect(await sql('INSERT INTO counted (n) VALUES (1), (2), (3)')).toMatchObject({ affectedRows: 3, insertId: 1 });
    expect(await sql('DELETE FROM counted WHERE n > 1')).toMatchObject({ affectedRows: 2, insertId: null });
    expect(await sql('INSERT INTO counted VALUES (18446744073709551610, 1)')).toMatchObject({
      insertId: '18446744073709551610',
    });
    expect(await sql('INSERT INTO counted (n) VALUES (7) RETURNING n')).toMatchObject({ rows: [[7]] });
  });

  test('a CALL answers its first result, and all of them', async () => {
    await sql('CREATE PROCEDURE several() BEGIN SELECT 1 AS a; SELECT 2 AS b UNION SELECT 3; DO 1; END');
    const body = await sql('CALL several()');
    expect(body).toMatchObject({ columns: [{ name: 'a', type: 'INT' }], rows: [[1]], rowCount: 1 });
    expect(body.resultSets.map(({ rows }: { rows: unknown }) => rows)).toEqual([[[1]], [[2], [3]]]);
    await sql(
      'CREATE PROCEDURE seven() BEGIN SELECT 1; SELECT 2; SELECT 3; SELECT 4; SELECT 5; SELECT 6; SELECT 7; END',
    );
    const most = await sql('CALL seven()');
    expect([most.resultSets.length, most.truncated]).toEqual([5, true]);
  });

  test.each(['', ' ', ';', '-- nothing', '/* nothing */', '# x\n;;'])('%j is no statement', async (text) => {
    const { body } = (await query(tenant.api, own.id, text)).expect(400);
    expect(body.errors).toEqual([expect.objectContaining({ field: 'sql', code: 'empty_statement' })]);
  });

  test('an error names the statement, the line and the server’s own words', async () => {
    const { body } = (await query(tenant.api, own.id, 'SELECT 1,\n2,\nFROM x')).expect(400);
    expect(body).toMatchObject({
      code: 'sql_error',
      sql: {
        code: 'ER_PARSE_ERROR',
        errno: 1064,
        sqlState: '42000',
        message: expect.stringMatching(/near/),
        statement: 1,
        line: 3,
      },
    });
  });

  test('10,000 rows and no more; what is left out is said', async () => {
    const all = await sql('SELECT seq FROM seq_1_to_10000');
    expect([all.rowCount, all.truncated]).toEqual([10_000, false]);
    const cut = await sql('SELECT seq FROM seq_1_to_10000000');
    expect([cut.rowCount, cut.rows.length, cut.truncated]).toEqual([10_000, 10_000, true]);
  });

  test('D-21: no result is larger than 8 MB, nor taken into memory to be cut', async () => {
    const { pid } = berth.process('api');
    const begin = peakMemory(pid!);
    for (const text of [
      "SELECT REPEAT('x', 100000) FROM seq_1_to_100000",
      "SELECT REPEAT('x', 16000000)",
      `SELECT ${Array.from({ length: 5 }, () => "REPEAT('x', 16000000)").join(', ')}`,
      `SELECT ${Array.from({ length: 4000 }, (_, index) => `${index} AS c${'x'.repeat(50)}${index}`).join(', ')} FROM seq_1_to_10000`,
    ]) {
      const answer = await query(tenant.api, own.id, text);
      if (answer.status === 400) expect(answer.body.sql.errno).toBe(1301);
      else {
        expect(answer.expect(200).body.truncated).toBe(true);
        expect(answer.text.length).toBeLessThan(9_000_000);
      }
    }
    expect(peakMemory(pid!) - begin).toBeLessThan(250);
    // The host does not go on for nobody: by itself, each would end after ten seconds.
    const others = 'SELECT COUNT(*) FROM information_schema.processlist WHERE id <> CONNECTION_ID()';
    await until('the end of all statements', async () => (await sql(others)).rows[0]?.[0] === '0', 5_000);
  });

  test('a statement that changes something is not broken off, however much it answers', async () => {
    await sql('CREATE TABLE returned (n int)');
    const body = await sql('INSERT INTO returned SELECT seq FROM seq_1_to_30000 RETURNING n');
    expect([body.rowCount, body.truncated]).toEqual([10_000, true]);
    expect((await sql('SELECT COUNT(*) FROM returned')).rows).toEqual([['30000']]);
  });

  test('what ran stands in the activity, without its strings', async () => {
    await sql("SELECT 'a secret' AS word -- another secret");
    const entries = (await tenant.api.get(`/servers/${own.serverId}/activity`)).expect(200).body;
    expect(entries[0]).toMatchObject({ event: 'server:database.query', properties: { statement: 'SELECT ? AS word' } });
  });
});

test('a new password takes the old one’s place, and ends its sessions', async () => {
  const { api: owner } = await berth.makeAccount();
  const own = await makeDatabase(owner);
  await asTenant(own.connection, async (old) => {
    const path = `/servers/${own.serverId}/db-connection/rotate-password`;
    const { operationId } = (await owner.post(path)).expect(202).body as { operationId: string };
    await owner.waitFor(`/operations/${operationId}`, 'DONE');
    await expect(old.query('SELECT 1')).rejects.toThrow();
    const renewed = await connectionOf(owner, own.serverId);
    expect(renewed).toMatchObject({ username: own.connection.username, database: own.connection.database });
    expect(renewed.password).not.toBe(own.connection.password);
    await expect(asTenant(own.connection, async () => undefined)).rejects.toThrow(/Access denied/);
    await asTenant(renewed, (program) => program.query('SELECT 1'));
    const kept = JSON.stringify(await berth.database.query('SELECT * FROM operations WHERE id = ?', [operationId]));
    for (const password of [renewed.password, own.connection.password]) {
      expect(kept + berth.process('worker').log()).not.toContain(password);
    }
  });
});

test('a service that is deleted while a statement runs: the statement ends, and nothing is left', async () => {
  const { api: owner } = await berth.makeAccount();
  const own = await makeDatabase(owner);
  await run(owner, own.id, 'CREATE TABLE t (a int)');
  const running = query(owner, own.id, 'INSERT INTO t SELECT SLEEP(15) FROM seq_1_to_2');
  const begin = Date.now();
  await until(
    'it runs',
    async () =>
      (await query(owner, own.id, 'SELECT COUNT(*) FROM information_schema.processlist')).body?.rows?.[0]?.[0] === '2',
  );
  (await owner.delete(`/servers/${own.serverId}`)).expect(204);
  (await running).expect(404);
  expect(Date.now() - begin).toBeLessThan(15_000);
  (await query(owner, own.id, 'SELECT 1')).expect(404);
  await until('gone', async () => !(await tenantLink().sizes()).has(own.connection.database));
});

test('a schema that is removed for good is not made again', async () => {
  const { api: owner } = await berth.makeAccount();
  const own = await makeDatabase(owner);
  const rest = own.id.slice(3);
  const link = tenantLink();
  await link.remove({ schema: `d${rest}`, users: [`u${rest}`, `q${rest}`] });
  await keeperOf(berth).pass();
  await expect(link.restoreSchema(`d${rest}`)).rejects.toMatchObject({ code: 'no_schema' });
  expect((await link.sizes()).has(`d${rest}`)).toBe(false);
  const [row] = await asHost(async (host) => (await host.query('SHOW DATABASES LIKE ?', [`d${rest}`]))[0] as unknown[]);
  expect(row).toBeUndefined();
});

test('the last places on a host are given away once', async () => {
  const { api: owner } = await berth.makeAccount();
  const [{ used }] = await berth.database.query<[{ used: number }]>('SELECT COUNT(*) AS used FROM service_databases');
  await berth.database.query('UPDATE database_hosts SET capacity = ?', [Number(used) + 3]);
  await berth.database.query(
    "UPDATE plans SET servers = 100, cpu = 100000, databases_ = 100 WHERE id = 'pro'".replace(
      'databases_',
      '`databases`',
    ),
  );
  const answers = await Promise.all(Array.from({ length: 10 }, () => owner.post('/servers', WITH_DATABASE)));
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
  for (const refused of answers.filter(({ status }) => status !== 201)) {
    expect(refused.expect(503).body.code).toBe('database_host_unavailable');
    expect(refused.header('retry-after')).toBeDefined();
  }
  await berth.database.query('UPDATE database_hosts SET capacity = 100');
  expect((await owner.get('/servers')).expect(200).body).toHaveLength(3);
});

test('what no row owns is removed, but nothing of another platform', async () => {
  const [{ id: hostId }] = await berth.database.query<[{ id: string }]>('SELECT id FROM database_hosts');
  const rest = '01jzzzzzzzzzzzzzzzzzzzzzzz';
  const password = 'x'.repeat(32);
  const leftover = (mark: string) => ({
    schema: `d${mark}${rest.slice(1)}`,
    program: { user: `u${mark}${rest.slice(1)}`, password },
    platform: { user: `q${mark}${rest.slice(1)}`, password },
  });
  const link = tenantLink();
  await link.provision(hostId, leftover('1'));
  await link.provision('another-platform', leftover('2'));
  try {
    await reconcilerOf(berth).reconcile();
    const present = await link.sizes();
    expect([present.has(leftover('1').schema), present.has(leftover('2').schema)]).toEqual([false, true]);
    expect(present.has(shared.connection.database)).toBe(true);
  } finally {
    for (const mark of ['1', '2']) {
      const { schema, program, platform } = leftover(mark);
      await link.remove({ schema, users: [program.user, platform.user] });
    }
  }
});

test('several hosts: the one with most room, and none that is at fault', async () => {
  const hosts = new TestDatabaseHosts(berth.database.database, berth.env);
  await hosts.add({ name: 'second', capacity: 103 });
  await berth.database.query("UPDATE database_hosts SET capacity = 50 WHERE name = 'test'");
  const hostOf = async ({ id }: TestDatabaseOf) =>
    (
      await berth.database.query(
        'SELECT h.name FROM service_databases d JOIN database_hosts h ON h.id = d.host_id WHERE d.id = ?',
        [id],
      )
    )[0]!['name'];
  const { api: owner } = await berth.makeAccount();
  const first = await makeDatabase(owner);
  expect(await hostOf(first)).toBe('second');
  await berth.database.query("UPDATE database_hosts SET fault = 'a fault' WHERE name = 'second'");
  expect(await hostOf(await makeDatabase(owner))).toBe('test');
  await expect(hosts.registration.remove('second')).rejects.toMatchObject({ code: 'host_in_use' });
  expect(await hosts.registration.check('second')).toMatchObject({ fault: null, databases: 1 });
  (await owner.delete(`/servers/${first.serverId}`)).expect(204);
  await until(
    'free',
    async () => (await hosts.registration.list()).find(({ name }) => name === 'second')!.databases === 0,
  );
  await hosts.registration.remove('second');
  expect((await hosts.registration.list()).map(({ name }) => name)).toEqual(['test']);
});

/** The most memory the process has had at once, in MB. */
function peakMemory(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
}
