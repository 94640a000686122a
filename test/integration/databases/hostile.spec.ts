import { existsSync } from 'node:fs';
import type { Api } from '../../support/api.js';
import { startBerth, type Berth } from '../../support/app.js';
import { tenantLink } from '../../support/database-host.js';
import { until } from '../../support/until.js';
import { asHost, asTenant, reaperOf, makeDatabase, query, run, type TestDatabaseOf } from './support.js';

let berth: Berth;
let api: Api;
let other: Api;
let mine: TestDatabaseOf;
let theirs: TestDatabaseOf;

beforeAll(async () => {
  berth = await startBerth({ env: { DATABASE_QUERY_TIMEOUT_SECONDS: '1' } });
  [{ api }, { api: other }] = await Promise.all([berth.makeAccount(), berth.makeAccount()]);
  [mine, theirs] = await Promise.all([makeDatabase(api), makeDatabase(other)]);
  await run(
    other,
    theirs.id,
    "CREATE TABLE secrets (id int PRIMARY KEY, word varchar(40)) SELECT 1 AS id, 'canary' AS word",
  );
});
afterAll(() => berth?.close());

const answer = (sql: string) => query(api, mine.id, sql);

test('D-01: a grant on one schema is none on schemas of like names', async () => {
  const link = tenantLink();
  const password = 'x'.repeat(32);
  const of = (schema: string, letter: string) => ({
    schema,
    program: { user: `u${letter}01`, password },
    platform: { user: `q${letter}01`, password },
  });
  const names = { dt_a1: 'a', dtxa1: 'b' };
  const all = Object.entries(names).map(([schema, letter]) => of(schema, letter));
  try {
    for (const database of all) await link.provision('sibling-test', database);
    await asHost((host) => host.query('CREATE TABLE dtxa1.t SELECT 1 AS n'));
    const options = { account: all[0]!.program, schema: 'dt_a1', timeoutMs: 5000, maxRows: 10, maxBytes: 1000 };
    const session = await link.open(options);
    await expect(session.run('SELECT * FROM dtxa1.t')).rejects.toMatchObject({ errno: 1142 });
    const { resultSets } = await session.run('SHOW DATABASES');
    expect(resultSets[0]!.rows.flat()).toEqual(['dt_a1', 'information_schema']);
    await session.close();
  } finally {
    for (const { schema, program, platform } of all)
      await link.remove({ schema, users: [program.user, platform.user] });
  }
});

test('D-02, D-16: another tenant is neither seen nor reached', async () => {
  const { database } = theirs.connection;
  for (const sql of [
    `SELECT * FROM ${database}.secrets`,
    `INSERT INTO ${database}.secrets VALUES (2, 'x')`,
    `USE ${database}`,
    `DROP DATABASE ${database}`,
    `CREATE DATABASE ${mine.connection.database}2`,
    `CREATE VIEW v AS SELECT * FROM ${database}.secrets`,
    `CREATE TABLE stolen LIKE ${database}.secrets`,
  ]) {
    const { body } = (await answer(sql)).expect(400);
    expect([sql, body.code, [1044, 1142].includes(body.sql.errno)]).toEqual([sql, 'sql_error', true]);
  }
  const { rows } = await run(api, mine.id, 'SHOW DATABASES');
  expect(rows.flat().sort()).toEqual([mine.connection.database, 'information_schema'].sort());
  const users = await run(api, mine.id, 'SELECT DISTINCT user FROM information_schema.processlist');
  expect(users.rows).toEqual([[`q${mine.id.slice(3)}`]]);
});

describe('what needs more than an own schema is refused by the server', () => {
  test.each([
    ["CREATE USER intruder@'%' IDENTIFIED BY 'x'"],
    ['SET GLOBAL event_scheduler = ON'],
    ["CREATE FUNCTION f RETURNS STRING SONAME 'x.so'"],
    ["INSTALL SONAME 'ha_federatedx'"],
    ['SELECT * FROM mysql.user'],
    ['SELECT * FROM berth_registry.hosted'],
    ['SHOW ENGINE INNODB STATUS'],
    ['CREATE DEFINER = root@localhost VIEW v AS SELECT 1'],
    ["SELECT 1 INTO OUTFILE '/tmp/databases-outfile'"],
    ["SELECT 1 INTO DUMPFILE '/tmp/databases-dumpfile'"],
    ["LOAD DATA INFILE '/etc/passwd' INTO TABLE t"],
    ["LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t"],
    ['CREATE EVENT e ON SCHEDULE EVERY 1 SECOND DO SELECT 1'],
    ['SET SESSION enforce_storage_engine = NULL'],
    ['CREATE TABLE f (a int) ENGINE=FEDERATED'],
    ['CREATE TABLE m (a int) ENGINE=MyISAM'],
    ['CREATE TABLE m (a int) ENGINE=CSV'],
    ["CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST '127.0.0.1')"],
    ['GRANT SELECT ON *.* TO CURRENT_USER'],
    ["GRANT SELECT ON x.* TO ''@'%'"],
    ['KILL 1'],
    ['SHUTDOWN'],
    ['FLUSH TABLES WITH READ LOCK'],
    ['SELECT 1; SELECT 2'],
  ])('D-03 to D-15: %s', async (sql) => {
    await run(api, mine.id, 'CREATE TABLE IF NOT EXISTS t (line text)');
    const { body } = (await answer(sql)).expect(400);
    expect(body).toMatchObject({ code: 'sql_error', sql: { statement: 1, line: 1, message: expect.any(String) } });
    expect(body.detail).not.toMatch(/\/(var|tmp|work|etc|usr)\//);
    expect(existsSync('/tmp/databases-outfile') || existsSync('/tmp/databases-dumpfile')).toBe(false);
  });
});

test('D-04: nothing of a file is read, and no table lies where its maker wants it', async () => {
  expect((await run(api, mine.id, "SELECT LOAD_FILE('/etc/passwd') AS f")).rows).toEqual([[null]]);
  await run(api, mine.id, "CREATE TABLE placed (a int) DATA DIRECTORY = '/tmp'");
  expect(existsSync(`/tmp/${mine.connection.database}`)).toBe(false);
  expect((await run(api, mine.id, 'SHOW CREATE TABLE placed')).rows[0][1]).not.toContain('/tmp');
});

test('D-08: MEMORY tables are made in the engine there is', async () => {
  const importing = await api.post(`/databases/${mine.id}/import`, { sql: 'CREATE TABLE old (a int) ENGINE=MyISAM;' });
  importing.expect(200);
  const tables = (await api.get(`/databases/${mine.id}/tables`)).expect(200).body as { name: string; engine: string }[];
  expect(tables.find(({ name }) => name === 'old')).toMatchObject({ type: 'table', engine: 'InnoDB', rows: 0 });
});

test('D-07: what a client would take for commands of its own goes to the server, which refuses it', async () => {
  for (const line of [
    '\\! touch /tmp/databases-shell',
    'system touch /tmp/databases-shell',
    'source /etc/passwd',
    'tee /tmp/databases-shell',
    'pager cat',
  ]) {
    const { body } = (await api.post(`/databases/${mine.id}/import`, { sql: `SELECT 1;\n${line}\n;` })).expect(400);
    expect([line, body.sql.errno, body.sql.statement, body.sql.line]).toEqual([line, 1064, 2, 2]);
  }
  expect(existsSync('/tmp/databases-shell')).toBe(false);
});

describe('D-19: statements that do not end are ended', () => {
  const LOOP = 'BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; WHILE 1 DO DO SLEEP(0.01); END WHILE; END';
  const BUSY =
    'BEGIN DECLARE n INT DEFAULT 0; DECLARE EXIT HANDLER FOR 1317 BEGIN WHILE 1 DO SET n = n + 1; END WHILE; END; WHILE 1 DO SET n = n + 1; END WHILE; END';
  const CROSS = 'seq_1_to_1000000 a, seq_1_to_1000000 b';

  beforeAll(async () => {
    await run(api, mine.id, `CREATE PROCEDURE looping() ${LOOP}`);
    await run(api, mine.id, `CREATE PROCEDURE busy() ${BUSY}`);
    await run(api, mine.id, 'CREATE FUNCTION slow() RETURNS INT BEGIN DO SLEEP(100); RETURN 1; END');
    await run(api, mine.id, 'CREATE TABLE many AS SELECT seq FROM seq_1_to_20000');
  });

  test('and leave no session behind', async () => {
    const kinds = [
      'SELECT SLEEP(1000)',
      'DO SLEEP(1000)',
      'SET STATEMENT max_statement_time = 0 FOR SELECT SLEEP(1000)',
      'CALL looping()',
      'CALL busy()',
      'SELECT slow()',
      `SELECT COUNT(*) FROM ${CROSS} WHERE a.seq * b.seq = -1`,
      "SELECT BENCHMARK(1000000000000, SHA2('x', 512))",
      `SELECT a.seq FROM ${CROSS} WHERE a.seq + b.seq = 0`,
      'BEGIN NOT ATOMIC WHILE 1 DO DO 1; END WHILE; END',
      'BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; LOOP DO SLEEP(0.01); END LOOP; END',
      'BEGIN NOT ATOMIC SET SESSION max_statement_time = 0; DO SLEEP(1000); END',
      "EXECUTE IMMEDIATE 'SELECT SLEEP(1000)'",
      'CREATE TABLE copied AS SELECT SLEEP(1) FROM many',
      'UPDATE many SET seq = SLEEP(10)',
      'DELETE FROM many WHERE SLEEP(10)',
      "SELECT 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!' REGEXP '^(a+)+$', SLEEP(1000)",
      "SELECT GET_LOCK('x', 1000), SLEEP(1000)",
      `SELECT a.seq FROM ${CROSS} ORDER BY RAND()`,
      'BEGIN NOT ATOMIC REPEAT DO SHA2(REPEAT(1, 10000000), 512); UNTIL FALSE END REPEAT; END',
    ];
    await inTwos(kinds, async (sql) => {
      const { status, body } = await answer(sql);
      expect([sql, status, body.code]).toEqual([sql, 400, 'query_timeout']);
    });
    await noSessions();
  });
});

test('too many at once are told to come back', async () => {
  const answers = await Promise.all(Array.from({ length: 6 }, () => answer('SELECT SLEEP(0.3) AS n')));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(2);
  for (const refused of answers.filter(({ status }) => status !== 200)) {
    expect(refused.expect(429).body.code).toBe('too_many_queries');
    expect(refused.header('retry-after')).toBe('1');
  }
});

test('D-05: what is prepared and left holds no names for others for long', async () => {
  await run(
    api,
    mine.id,
    "BEGIN NOT ATOMIC XA START 'left'; INSERT INTO many VALUES (0); XA END 'left'; XA PREPARE 'left'; END",
  ).catch(() => undefined);
  await asTenant(mine.connection, async (program) => {
    for (const sql of ["XA START 'mine'", 'INSERT INTO many VALUES (0)', "XA END 'mine'", "XA PREPARE 'mine'"])
      await program.query(sql);
  });
  const link = tenantLink();
  const left = async () => (await link.preparedTransactions()).filter((name) => /'(left|mine)'/.test(name));
  expect(await left()).toHaveLength(2);
  const reaper = reaperOf(berth);
  await reaper.pass(0);
  await reaper.pass(59_999);
  expect(await left()).toHaveLength(2);
  await until('rolled back', async () => {
    await reaper.pass(60_000);
    return (await left()).length === 0;
  });
});

test('D-05: one that cannot be rolled back keeps no other from it', async () => {
  await asTenant(mine.connection, async (program) => {
    for (const sql of ["XA START 'later'", 'INSERT INTO many VALUES (0)', "XA END 'later'", "XA PREPARE 'later'"])
      await program.query(sql);
  });
  const odd = "'of another form',99999999999";
  const link = tenantLink();
  const present = async () => [odd, ...(await link.preparedTransactions()).filter((name) => /^'later'/.test(name))];
  const host = Object.assign(tenantLink(), { preparedTransactions: present });
  const reaper = reaperOf(berth, { at: () => host });
  await reaper.pass(0);
  expect(await present()).toEqual([odd, "'later'"]);
  await until('rolled back', async () => {
    await reaper.pass(60_000);
    return (await present()).length === 1;
  });
  const refused = await link.rollBackPrepared([odd, "'nobody’s'"]);
  expect([...refused]).toEqual([[odd, expect.objectContaining({ code: 'failed' })]]);
});

test('D-06: a column may have any name', async () => {
  const { columns, rows } = await run(api, mine.id, 'SELECT 1 AS `__proto__`, 2 AS `constructor`, 3 AS a, 4 AS a');
  expect(columns.map(({ name }: { name: string }) => name)).toEqual(['__proto__', 'constructor', 'a', 'a']);
  expect(rows).toEqual([[1, 2, 3, 4]]);
});

test('D-09: a session leaves nothing to the next', async () => {
  await run(api, mine.id, 'SET @left = 1');
  await run(api, mine.id, 'CREATE TEMPORARY TABLE left_over (a int)');
  expect((await run(api, mine.id, 'SELECT @left')).rows).toEqual([[null]]);
  (await answer('SELECT * FROM left_over')).expect(400);
});

test('D-22: who changes the password of the platform’s account keeps nobody out', async () => {
  for (const sql of [
    "SET PASSWORD = PASSWORD('mine now')",
    "EXECUTE IMMEDIATE 'SET PASSWORD = PASSWORD(''mine now'')'",
  ]) {
    await run(api, mine.id, sql);
    expect((await run(api, mine.id, 'SELECT 1 AS n')).rows).toEqual([[1]]);
  }
});

describe('D-22: who changed that password is out again', () => {
  const intruding = (own: TestDatabaseOf) => ({
    ...own.connection,
    username: `q${own.id.slice(3)}`,
    password: 'mine now',
  });
  const ways: [string, (own: TestDatabaseOf) => Promise<unknown>][] = [
    ['once a statement runs', (own) => run(api, own.id, 'SELECT 1 AS n')],
    [
      'once the password is rotated',
      async (own) => {
        const path = `/servers/${own.serverId}/db-connection/rotate-password`;
        const { operationId } = (await api.post(path)).expect(202).body as { operationId: string };
        await api.waitFor(`/operations/${operationId}`, 'DONE');
      },
    ],
  ];

  test.each(ways)('%s', async (_, heal) => {
    const own = await makeDatabase(api);
    await run(api, own.id, "SET PASSWORD = PASSWORD('mine now')");
    await asTenant(intruding(own), async (intruder) => {
      await intruder.query('SELECT 1');
      await heal(own);
      await expect(intruder.query('SELECT 1')).rejects.toThrow();
    });
    await expect(asTenant(intruding(own), async () => undefined)).rejects.toThrow(/Access denied/);
    expect((await run(api, own.id, 'SELECT 1 AS n')).rows).toEqual([[1]]);
  });
});

test('a schema that its owner dropped is there again, empty', async () => {
  const own = await makeDatabase(api);
  await run(api, own.id, 'CREATE TABLE t (a int)');
  await run(api, own.id, `DROP DATABASE ${own.connection.database}`);
  expect((await run(api, own.id, 'SHOW TABLES')).rows).toEqual([]);
  expect((await api.get(`/databases/${own.id}/tables`)).expect(200).body).toEqual([]);
});

test('D-23: two tenants with hostile statements at once leave the third as it was', async () => {
  const third = await makeDatabase(other);
  await run(
    other,
    third.id,
    'CREATE TABLE t (a int PRIMARY KEY, b text) SELECT seq AS a, MD5(seq) AS b FROM seq_1_to_500',
  );
  const sum = async () => (await run(other, third.id, 'CHECKSUM TABLE t')).rows;
  const before = await sum();
  const { database } = third.connection;
  const corpus = [
    `DROP DATABASE ${database}`,
    `UPDATE ${database}.t SET b = ''`,
    `RENAME TABLE ${database}.t TO t`,
    `LOCK TABLES ${database}.t WRITE`,
    `CREATE TRIGGER ${database}.x AFTER INSERT ON ${database}.t FOR EACH ROW SET @a = 1`,
    `EXECUTE IMMEDIATE 'TRUNCATE ${database}.t'`,
    `GRANT ALL ON ${database}.* TO CURRENT_USER`,
    "SELECT GET_LOCK('t', 0)",
    `SELECT * FROM information_schema.tables WHERE table_schema = '${database}'`,
    'SET SESSION sql_log_bin = 0',
    `CALL ${database}.p()`,
  ];
  let seed = 7;
  const pick = () => corpus[(seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % corpus.length]!;
  const attack = async (who: Api, id: string) => {
    for (let i = 0; i < 30; i++) (await query(who, id, pick())).expect(200, 400, 429);
    const { rows } = await run(who, id, 'SHOW DATABASES');
    expect(rows).toHaveLength(2);
  };
  await Promise.all([attack(api, mine.id), attack(other, theirs.id)]);
  expect(await sum()).toEqual(before);
});

/** That nobody runs anything in the database any more. */
async function noSessions(): Promise<void> {
  const user = `q${mine.id.slice(3)}`;
  await until('no sessions', () =>
    asHost(async (host) => {
      const [rows] = await host.query('SELECT id FROM information_schema.processlist WHERE user = ?', [user]);
      return (rows as unknown[]).length === 0;
    }),
  );
}

/** As many at once as a database may have. */
async function inTwos(statements: string[], work: (sql: string) => Promise<void>): Promise<void> {
  const waiting = [...statements];
  const worker = async () => {
    for (let next; (next = waiting.shift()) !== undefined;) await work(next);
  };
  await Promise.all([worker(), worker()]);
}
