import { fc } from '../../support/fast-check.js';
import type { Api } from '../../support/api.js';
import { startBerth, type Berth } from '../../support/app.js';
import { MariaDbClient } from './mariadb-client.js';
import { asHost, makeDatabase, run, type TestDatabaseOf } from './support.js';

let berth: Berth;
let api: Api;
let made: TestDatabaseOf;
const client = new MariaDbClient();
const reference = `reference${process.pid}`;
const original = `original${process.pid}`;

beforeAll(async () => {
  berth = await startBerth();
  ({ api } = await berth.makeAccount());
  made = await makeDatabase(api);
});
afterAll(async () => {
  await asHost(async (host) => {
    for (const schema of [reference, original]) await host.query(`DROP DATABASE IF EXISTS ${schema}`);
  });
  client.close();
  await berth?.close();
});

const importing = (sql: string) => api.post(`/databases/${made.id}/import`, { sql });

/** D-17: the text through our splitter and through the client leaves the same, or is refused for the same reason. */
async function expectSame(sql: string, comments?: '--comments'): Promise<void> {
  await run(api, made.id, `DROP DATABASE ${made.connection.database}`);
  await asHost(async (host) => {
    await host.query(`DROP DATABASE IF EXISTS ${reference}`);
    await host.query(`CREATE DATABASE ${reference} CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci`);
  });
  const [ours, theirs] = await Promise.all([importing(sql), client.run(reference, sql, comments)]);
  expect({ sql, errno: ours.expect(200, 400).body.sql?.errno ?? null }).toEqual({ sql, errno: theirs });
  const [left, wanted] = [client.dump(made.connection.database), client.dump(reference)];
  expect({ sql, left }).toEqual({ sql, left: wanted });
}

describe('D-17: real dumps', () => {
  beforeAll(async () => {
    await client.mustRun(null, FIXTURE.replaceAll('@schema', original));
  });

  test.each([
    ['as they are', []],
    ['a row a statement, bytes as they are', ['--skip-extended-insert', '--skip-hex-blob']],
    ['with complete inserts and no options', ['--skip-opt', '--complete-insert', '--create-options']],
    ['quoted as ANSI', ['--compatible=ansi']],
    ['replacing, in transactions', ['--replace', '--no-autocommit', '--order-by-primary']],
  ])('%s', async (_name, options) => {
    const dump = client.original(original, ['--routines', '--triggers', '--hex-blob', ...options]);
    await expectSame(dump, '--comments');
    expect((await run(api, made.id, 'SELECT COUNT(*) FROM all_types')).rows).toEqual([['3']]);
  });

  test('of our own export', async () => {
    await run(api, made.id, `DROP DATABASE ${made.connection.database}`);
    (await importing(client.original(original, ['--routines', '--triggers', '--hex-blob']))).expect(200);
    const exported = (await api.post(`/databases/${made.id}/export`)).expect(200);
    expect(exported.mediaType).toBe('application/sql');
    expect(exported.text).toMatch(/Dump completed/);
    const before = client.dump(made.connection.database);
    expect((await run(api, made.id, 'CALL doubled(21)')).rows).toEqual([['42']]);
    await expectSame(exported.text, '--comments');
    expect(client.dump(made.connection.database)).toEqual(before);
  });
});

test('D-17: generated texts', async () => {
  const quoted = fc
    .array(
      fc.constantFrom(
        "''",
        "\\'",
        '\\\\',
        ';',
        '--',
        ' -- ',
        '#',
        '/*',
        '*/',
        '\n',
        '\r\n',
        '"',
        '`',
        '//',
        'é😀',
        'x',
        '\\n',
        '\\0',
      ),
      {
        maxLength: 8,
      },
    )
    .map((parts) => `'${parts.join('')}'`);
  const comment = fc.constantFrom(
    '-- a; comment\n',
    '--\n',
    '# another; one\n',
    '/* and ; one more */',
    '/* of \n two; lines */\n',
    '',
    ' ',
    '\n',
    '\r\n',
    '\t',
  );
  const name = fc.constantFrom('a', 'b', '`c;d`', "`e'f`", '`-- g`');
  const statement = fc.oneof(
    fc.tuple(quoted, comment).map(([text, gap]) => `INSERT INTO log (word)${gap || ' '}VALUES (${text})`),
    fc.tuple(quoted, quoted).map(([one, two]) => `INSERT INTO log (word) VALUES (${one}), (CONCAT(${two}))`),
    name.map((table) => `CREATE TABLE IF NOT EXISTS ${table} (n int)`),
    fc
      .tuple(name, quoted)
      .map(
        ([table, text]) =>
          `CREATE OR REPLACE VIEW ${table.replace('`', '`v').replace(/^(\w)/, 'v$1')} AS SELECT ${text} AS w`,
      ),
    quoted.map((text) => `/*!50001 INSERT INTO log (word) VALUES (${text}) */`),
    quoted.map((text) => `/*!999999 INSERT INTO log (word) VALUES (${text}) */`),
    quoted.map((text) => `/*M!100100 INSERT INTO log (word) VALUES (${text}) */`),
    fc.constant('INSERT INTO log (word) SELECT 5--1'),
    fc.constant('SELECT * FROM nowhere'),
    fc.constant("SET sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES')"),
    fc.constant("SET sql_mode = REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', '')"),
    fc.constant(''),
  );
  const plain = fc.tuple(comment, statement, comment).map(([before, sql, after]) => `${before}${sql}${after};`);
  const routine = fc
    .tuple(fc.constantFrom('//', ';;', '$$', '|', 'xx'), quoted, comment)
    .map(
      ([end, text, gap]) =>
        `\nDELIMITER ${end}\nCREATE OR REPLACE PROCEDURE p()\nBEGIN\nSELECT ${text};\nSELECT 2; END ${end}\n${gap}\nDELIMITER ;\n`,
    );
  const text = fc
    .array(fc.oneof({ arbitrary: plain, weight: 4 }, routine), { minLength: 1, maxLength: 12 })
    .map((parts) => `CREATE TABLE log (id int AUTO_INCREMENT PRIMARY KEY, word text);\n${parts.join('')}`);
  await fc.assert(
    fc.asyncProperty(text, (sql) => expectSame(sql)),
    { numRuns: 40, endOnFailure: true },
  );
});

test('the first statement that is refused is told by its number and line, and what ran before it stays', async () => {
  await run(api, made.id, `DROP DATABASE ${made.connection.database}`);
  const sql =
    '-- a dump\nCREATE TABLE t (a int);\nINSERT INTO t VALUES (1);\n\nINSERT INTO t\n  VALUES (2, 3);\nINSERT INTO t VALUES (4);';
  const { body } = (await importing(sql)).expect(400);
  expect(body).toMatchObject({ code: 'sql_error', executed: 2 });
  expect(body.sql).toEqual({
    code: 'ER_WRONG_VALUE_COUNT_ON_ROW',
    errno: 1136,
    sqlState: '21S01',
    message: expect.any(String),
    statement: 3,
    line: 5,
  });
  expect((await run(api, made.id, 'SELECT a FROM t')).rows).toEqual([[1]]);
  const syntax = (await importing('SELECT 1;\nSELECT\n  1,\n  FROM;')).expect(400).body;
  expect(syntax.sql).toMatchObject({ errno: 1064, statement: 2, line: 4 });
});

test('D-20: 8 MiB of text are taken, and not a byte more', async () => {
  await run(api, made.id, `DROP DATABASE ${made.connection.database}`);
  const most = 8_388_608;
  const head = "CREATE TABLE big (word longtext);\nINSERT INTO big VALUES ('";
  // Of one byte, of two, and one that JSON has to escape.
  const filled = (bytes: number) => {
    const room = bytes - head.length - 3;
    const body = 'é'.repeat(500_000) + '\n'.repeat(500_000);
    return `${head}${body}${'x'.repeat(room - 1_500_000)}');`;
  };
  expect(Buffer.byteLength(filled(most))).toBe(most);
  (await importing(filled(most))).expect(200);
  expect((await run(api, made.id, 'SELECT LENGTH(word) FROM big')).rows).toEqual([[most - head.length - 3]]);
  expect((await importing(filled(most + 1))).expect(413).body).toMatchObject({
    code: 'body_too_large',
    maxBytes: most,
  });
  const query = (bytes: number) =>
    api.post(`/databases/${made.id}/query`, { sql: `SELECT 1 -- ${'\n'.repeat(bytes - 12)}` });
  (await query(1_048_576)).expect(200);
  expect((await query(1_048_577)).expect(413).body).toMatchObject({ maxBytes: 1_048_576 });
});

const FIXTURE = `
CREATE OR REPLACE DATABASE @schema CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
USE @schema;
CREATE TABLE all_types (
  id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
  amount decimal(30, 10), ratio double, flag bit(3), born date, seen datetime(6), at timestamp NULL, span time(3), y year,
  word varchar(200), body longtext, kind enum('a;', 'b''', 'c\\\\'), tags set('x', 'y'), raw varbinary(300), photo longblob,
  doc json, place point, total decimal(31, 10) AS (amount * 2) STORED, UNIQUE KEY word_key (word), FULLTEXT KEY (body)
) COMMENT 'it''s; a -- comment';
INSERT INTO all_types (amount, ratio, flag, born, seen, at, span, y, word, body, kind, tags, raw, photo, doc, place) VALUES
  (12345678901234567890.0123456789, 1.5e300, b'101', '2020-02-29', '2020-02-29 12:00:00.123456', '2020-01-01', '-12:30:00.5', 2020,
   'semi;colon -- # /* x */ \\' " \\\` \\\\', 'line\\none\\r\\nDELIMITER //\\n\\\\! touch /tmp/x', 'b''', 'x,y', X'00FF0A0D1A275C22',
   UNHEX(REPEAT('000102275C0A0DFF1A', 500)), '{"a": "b;c"}', ST_GeomFromText('POINT(1 2)')),
  (0, -0.1, b'0', '1970-01-01', NULL, NULL, '838:59:59', 1901, 'é😀 ', '', 'a;', '', '', '', '[]', NULL),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE child (id int PRIMARY KEY, parent bigint unsigned, FOREIGN KEY (parent) REFERENCES all_types (id) ON DELETE CASCADE);
INSERT INTO child VALUES (1, 1);
CREATE SEQUENCE numbers START WITH 100;
CREATE VIEW later AS SELECT 1 AS n;
CREATE VIEW words AS SELECT id, word, 'it''s; -- x' AS note FROM all_types WHERE word LIKE '%;%';
CREATE OR REPLACE VIEW later AS SELECT w.word, c.id FROM words w JOIN child c ON c.parent = w.id;
DELIMITER //
CREATE PROCEDURE doubled(n int) COMMENT 'it''s; one'
BEGIN
  -- a comment; with a semicolon
  DECLARE result bigint DEFAULT 0; # and another; one
  IF n > 0 THEN SET result = n * 2; END IF;
  SELECT result AS result;
END//
CREATE FUNCTION quoted(t text) RETURNS text DETERMINISTIC RETURN CONCAT('\\'', t, ";")//
CREATE TRIGGER before_child BEFORE INSERT ON child FOR EACH ROW
BEGIN
  IF NEW.id < 0 THEN SET NEW.id = -NEW.id; END IF; /* it; ends */
END//
CREATE TRIGGER after_child AFTER DELETE ON child FOR EACH ROW SET @gone = OLD.id//
DELIMITER ;
`;
