import { HostRegistration } from '../../../src/modules/databases/lifecycle/host-registration.js';
import { startBerth, type Berth } from '../../support/app.js';
import { keeperOf, makeDatabase, query, run } from './support.js';

let berth: Berth;

beforeAll(async () => {
  berth = await startBerth({ env: { DATABASE_SIZE_LIMIT_MB: '2' } });
});
afterAll(() => berth?.close());

test('a database over its size can be read and emptied, and grows again when it is small', async () => {
  const { api: owner } = await berth.makeAccount();
  const own = await makeDatabase(owner);
  const status = async () => (await owner.get('/databases')).expect(200).body[0];
  const keeper = keeperOf(berth);
  await run(
    owner,
    own.id,
    "CREATE TABLE t (a int PRIMARY KEY, b char(200)) SELECT seq AS a, 'x' AS b FROM seq_1_to_20000",
  );
  await keeper.pass();
  expect(await status()).toMatchObject({ status: 'FULL' });
  expect((await status()).sizeBytes).toBeGreaterThan(2 * 1_048_576);
  for (const sql of ["INSERT INTO t VALUES (0, '')", 'CREATE TABLE more (a int)', "UPDATE t SET b = ''"]) {
    expect((await query(owner, own.id, sql)).expect(400).body.sql.errno).toBe(1142);
  }
  expect((await run(owner, own.id, 'SELECT COUNT(*) FROM t')).rows).toEqual([['20000']]);
  await run(owner, own.id, 'DROP TABLE t');
  await keeper.pass();
  expect(await status()).toMatchObject({ status: 'READY' });
  await run(owner, own.id, 'CREATE TABLE more (a int)');
});

test('routines count as well, and one that is too large can be dropped; so it is on a host that is at fault', async () => {
  const { api: owner } = await berth.makeAccount();
  const own = await makeDatabase(owner);
  const status = async () => (await owner.get('/databases')).expect(200).body[0].status;
  const keeper = keeperOf(berth);
  const inspecting = jest.spyOn(HostRegistration.prototype, 'inspect').mockResolvedValue('a fault');
  try {
    await run(owner, own.id, 'CREATE TABLE t (a int) SELECT 1 AS a');
    await run(owner, own.id, 'CREATE TRIGGER gone BEFORE DELETE ON t FOR EACH ROW SET @gone = OLD.a');
    for (const name of ['one', 'two'])
      await run(owner, own.id, `CREATE PROCEDURE ${name}() SELECT '${'x'.repeat(900_000)}'`);
    await keeper.pass();
    expect(await status()).toBe('FULL');
    for (const [sql, errno] of [
      ['CREATE OR REPLACE PROCEDURE one() SELECT 1', 1044],
      ['CREATE VIEW v AS SELECT 1', 1142],
    ] as const) {
      expect((await query(owner, own.id, sql)).expect(400).body.sql.errno).toBe(errno);
    }
    expect((await run(owner, own.id, 'DELETE FROM t')).affectedRows).toBe(1);
    for (const name of ['one', 'two']) await run(owner, own.id, `DROP PROCEDURE ${name}`);
    await keeper.pass();
    expect(await status()).toBe('READY');
    await run(owner, own.id, 'CREATE PROCEDURE one() SELECT 1');
  } finally {
    inspecting.mockRestore();
  }
});
