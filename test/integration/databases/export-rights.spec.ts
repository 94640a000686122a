import { createConnection } from 'mysql2/promise';
import type { Api } from '../../support/api.js';
import { startBerth, type Berth } from '../../support/app.js';
import { asHost, makeDatabase, run, type TestDatabaseOf } from './support.js';

/** An export runs what the tenant made with no more rights than the tenant has. */
let berth: Berth;
let api: Api;
let own: TestDatabaseOf;

const sql = (text: string) => run(api, own.id, text);
const exported = async () => (await api.post(`/databases/${own.id}/export`)).expect(200).text;
const platform = () => `q${own.id.slice(3)}`;

beforeAll(async () => {
  berth = await startBerth();
  ({ api } = await berth.makeAccount());
  own = await makeDatabase(api);
  await sql('CREATE TABLE read_by_whom (a int) SELECT 1 AS a');
});
afterAll(() => berth?.close());

test('views are opened by the account that statements run under: to open one may be to run a function', async () => {
  await sql('CREATE OR REPLACE TABLE seen (who text, accounts int)');
  await sql(`CREATE OR REPLACE FUNCTION looks() RETURNS int DETERMINISTIC SQL SECURITY INVOKER BEGIN
    DECLARE n int;
    DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
    SELECT COUNT(*) INTO n FROM mysql.global_priv;
    INSERT INTO seen VALUES (CURRENT_USER(), n);
    RETURN 1;
  END`);
  await sql('CREATE OR REPLACE SQL SECURITY INVOKER VIEW looking AS SELECT ROUND(1.5, looks()) AS x');
  await sql('DELETE FROM seen');
  expect(await exported()).toContain('VIEW `looking`');
  expect((await sql('SELECT DISTINCT who, accounts FROM seen')).rows).toEqual([[`${platform()}@%`, null]]);
});

test('tables are read by it as well, as any may be a view by then', async () => {
  await asHost((host) => host.query("SET GLOBAL log_output = 'TABLE', GLOBAL general_log = ON"));
  try {
    await exported();
    await asHost(async (host) => {
      const about = "SELECT DISTINCT user_host FROM mysql.general_log WHERE argument LIKE '%read\\_by\\_whom`%'";
      expect((await host.query(about))[0]).toEqual([[expect.stringContaining(`[${platform()}]`)]]);
    });
  } finally {
    await asHost(async (host) => {
      await host.query('SET GLOBAL general_log = OFF');
      await host.query('TRUNCATE mysql.general_log');
    });
  }
});

test('a password that was set keeps it from nothing', async () => {
  await sql("SET PASSWORD = PASSWORD('mine now')");
  expect(await exported()).toContain('INSERT INTO `read_by_whom`');
});

test('too many sessions are told to come back', async () => {
  const name = platform();
  const known = 'SELECT authentication_string FROM mysql.user WHERE User = ?';
  const hash = await asHost(async (host) => ((await host.query(known, [name]))[0] as string[][])[0]![0]);
  await sql("SET PASSWORD = PASSWORD('mine now')");
  const held = { host: '127.0.0.1', port: own.connection.port, user: name, password: 'mine now' };
  const sessions = await Promise.all([1, 2, 3].map(() => createConnection(held)));
  try {
    await asHost((host) => host.query(`ALTER USER ${name}@'%' IDENTIFIED BY PASSWORD '${hash}'`));
    const { body } = (await api.post(`/databases/${own.id}/export`)).expect(429);
    expect(body.code).toBe('too_many_queries');
  } finally {
    for (const session of sessions) session.destroy();
  }
});
