import type { Api } from '../../support/api.js';
import { startBerth, type Berth } from '../../support/app.js';
import { MariaDbClient } from './mariadb-client.js';
import { asHost, asTenant, makeDatabase, run, type TestDatabaseOf } from './support.js';

/** For the server's own grammar of names, the worst that can be had in them. */
const ODD = 'o.d`d"\'é \\ %_*#;?\nDROP TABLE kept; -- x';

let berth: Berth;
let api: Api;
let made: TestDatabaseOf;
let second: TestDatabaseOf;
const client = new MariaDbClient();

beforeAll(async () => {
  berth = await startBerth();
  ({ api } = await berth.makeAccount());
  [made, second] = await Promise.all([makeDatabase(api), makeDatabase(api)]);
});
beforeEach(async () => {
  for (const { id, connection } of [made, second]) await run(api, id, `DROP DATABASE ${connection.database}`);
  await run(api, made.id, 'SELECT 1');
});
afterAll(async () => {
  client.close();
  await berth?.close();
});

const id = (name: string) => `\`${name.replaceAll('`', '``')}\``;

/** As the hosted program, in one session. */
const making = (...statements: string[]) =>
  asTenant(made.connection, async (program) => {
    for (const sql of statements) await program.query(sql);
  });

const exported = async () => (await api.post(`/databases/${made.id}/export`)).expect(200).text;

/** Imports the export elsewhere and compares, as the host sees both, once the invalid views are dropped. */
async function expectWhole(invalid: string[]): Promise<string> {
  const text = await exported();
  expect(text).toContain('-- Dump completed');
  const imported = await api.post(`/databases/${second.id}/import`, { sql: text });
  expect({ text, answer: imported.body.sql ?? null }).toEqual({ text, answer: null });
  imported.expect(200);
  await making(...invalid.map((name) => `DROP VIEW ${id(name)}`));
  expect(client.dump(second.connection.database)).toBe(client.dump(made.connection.database));
  return text;
}

test('views that are invalid are left out and named, and everything else is exported', async () => {
  const broken = ['brk', ODD, 'überé', 'of a view', 'of a function'];
  await making(
    'CREATE TABLE t (a int)',
    'CREATE TABLE kept (a int) SELECT 1 AS a',
    'CREATE SEQUENCE numbers START WITH 7',
    'CREATE PROCEDURE one() SELECT 1',
    'CREATE TRIGGER before_kept BEFORE INSERT ON kept FOR EACH ROW SET @a = 1',
    'CREATE FUNCTION gone() RETURNS int RETURN 1',
    'CREATE VIEW `of a function` AS SELECT gone() AS a',
    ...['brk', ODD, 'überé'].map((name) => `CREATE VIEW ${id(name)} AS SELECT a FROM t`),
    'CREATE VIEW `of a view` AS SELECT a FROM brk',
    // The server's own tool takes these for the one above.
    'CREATE TABLE Brk (a int) SELECT 2 AS a',
    'CREATE VIEW `UBERE` AS SELECT a FROM kept',
    'CREATE VIEW `--all ``odd``.v` AS SELECT a FROM `UBERE`',
    'DROP TABLE t',
    'DROP FUNCTION gone',
  );
  const text = await expectWhole(broken);
  for (const name of broken)
    expect(text).toContain(`\n-- Left out, as this view is invalid: ${JSON.stringify(name)}\n`);
  expect(text.match(/^-- Left out/gm)).toHaveLength(broken.length);
  expect((await run(api, second.id, 'SELECT a FROM kept')).rows).toEqual([[1]]);
  expect((await run(api, second.id, 'SELECT a FROM Brk')).rows).toEqual([[2]]);
});

test('so are those where nothing else is left, and one that contains itself', async () => {
  await making(
    'CREATE TABLE t (a int)',
    ...['brk', ODD].map((name) => `CREATE VIEW ${id(name)} AS SELECT a FROM t`),
    'DROP TABLE t',
    'CREATE TABLE own (a int)',
    'CREATE VIEW v AS SELECT a FROM own',
    'DROP TABLE own',
    'RENAME TABLE v TO own',
  );
  expect(await expectWhole(['brk', ODD, 'own'])).not.toContain('\nDROP ');
});

test('so is a view whose definer is gone: no other schema would take it', async () => {
  await making('CREATE TABLE kept (a int) SELECT 1 AS a');
  const { database } = made.connection;
  await asHost(async (host) => {
    await host.query(`CREATE DEFINER = ghost@nowhere VIEW ${database}.ghostly AS SELECT a FROM ${database}.kept`);
  });
  expect(await expectWhole(['ghostly'])).toContain('-- Left out, as this view is invalid: "ghostly"');
});

test('a view keeps what looks like a definer in its body', async () => {
  await making('CREATE TABLE df (definer text)');
  const sql = `
    CREATE OR REPLACE SQL SECURITY DEFINER VIEW dv AS SELECT definer = 'bob' 'isbob' FROM df;
    CREATE ALGORITHM=MERGE SQL SECURITY DEFINER VIEW dv2 AS SELECT * FROM df WHERE definer = 'bob';`;
  (await api.post(`/databases/${made.id}/import`, { sql })).expect(200);
  for (const view of ['dv', 'dv2'])
    expect((await run(api, made.id, `SHOW CREATE VIEW ${view}`)).rows[0][1]).toMatch(/`definer` = 'bob/);
  await expectWhole([]);
});

test('routines are whole, whatever they are written in, and there before the views that call them', async () => {
  await asTenant(made.connection, async (program) => {
    const making = async (mode: string, ...statements: string[]) => {
      await program.query(`SET SESSION sql_mode = '${mode}'`);
      for (const sql of statements) await program.query(sql);
    };
    await making(
      '',
      'CREATE TABLE kept (a int) SELECT 1 AS a',
      `CREATE FUNCTION ${id(ODD)}(t text) RETURNS text RETURN CONCAT(t, ';; "', '\\'é') -- the end`,
      `CREATE VIEW calling AS SELECT ${id(ODD)}(a) AS x FROM kept`,
    );
    await making('ANSI_QUOTES,NO_BACKSLASH_ESCAPES', `CREATE PROCEDURE "an ""odd"" one"() SELECT 'a\\' AS "x"`);
    await making(
      'ORACLE',
      'CREATE PACKAGE pack AS FUNCTION f1 RETURN INT; END',
      'CREATE PACKAGE BODY pack AS FUNCTION f1 RETURN INT AS BEGIN RETURN 7; END; END',
    );
  });
  // Nobody sees the code of a routine that another account made.
  await run(api, made.id, "CREATE PROCEDURE of_the_platform() COMMENT 'it''s' SELECT 1");
  const text = await expectWhole([]);
  expect(text.endsWith('-- Dump completed\n')).toBe(true);
  expect((await run(api, second.id, 'SELECT x FROM calling')).rows).toEqual([[`1;; "'é`]]);
  await client.mustRun(made.connection.database, text);
  expect(client.dump(second.connection.database)).toBe(client.dump(made.connection.database));
});

test('millions of comments in a header are read over', async () => {
  const sql = `CREATE ${'#\n'.repeat(3_900_000)} TABLE hg (a int);`;
  (await api.post(`/databases/${made.id}/import`, { sql })).expect(200);
  expect((await run(api, made.id, 'SHOW TABLES')).rows).toEqual([['hg']]);
});
