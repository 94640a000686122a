import type { Api } from '../../support/api.js';
import { startBerth, type Berth } from '../../support/app.js';
import { makeDatabase, query, run, type TestDatabaseOf } from './support.js';

let berth: Berth;
let api: Api;
let made: TestDatabaseOf;

beforeAll(async () => {
  berth = await startBerth();
  ({ api } = await berth.makeAccount());
  made = await makeDatabase(api);
});
afterAll(() => berth?.close());

const sql = (text: string) => run(api, made.id, text);
const importing = (text: string) => api.post(`/databases/${made.id}/import`, { sql: text });

/** Columns and rows of what an import left in a table. */
const rowsOf = async (table: string, columns = '*') => (await sql(`SELECT ${columns} FROM ${table}`)).rows;

describe('D-17: statements go out as their UTF-8 bytes whatever the character set of the session', () => {
  // Cut to its low byte, U+0127 is a quote.
  const INJECTING = "INSERT INTO words (word) VALUES ('ħ), (0x70776e6564) -- '), ('last')";

  test.each(['latin1', 'binary', 'utf8', 'utf8mb3', 'cp1251', 'gbk', 'hp8', 'swe7'])('SET NAMES %s', async (name) => {
    await sql('CREATE OR REPLACE TABLE words (id int AUTO_INCREMENT PRIMARY KEY, word blob)');
    (await importing(`SET NAMES ${name};\n${INJECTING};\nSELECT 1;`)).expect(200);
    const rows = await rowsOf('words', 'COUNT(*), SUM(word = 0x70776e6564)');
    expect(rows).toEqual([['2', '0']]);
  });

  test('as the dumps of mydumper need it, bytes are bytes', async () => {
    await sql('CREATE OR REPLACE TABLE words (word blob)');
    (await importing("SET NAMES binary; INSERT INTO words VALUES ('Жук é');")).expect(200);
    expect(await rowsOf('words', 'HEX(word)')).toEqual([['D096D183D0BA20C3A9']]);
  });

  test('no character is written as two surrogates', async () => {
    await sql('CREATE OR REPLACE TABLE words (word blob)');
    (await importing("SET NAMES utf8; INSERT INTO words VALUES ('😀');")).expect(200);
    const [[word]] = (await rowsOf('words', 'HEX(word)')) as [[string]];
    expect(word).not.toMatch(/EDA0|EDB/);
    (await importing("TRUNCATE words; SET NAMES utf8; INSERT INTO words VALUES (_binary '😀');")).expect(200);
    expect(await rowsOf('words', 'HEX(word)')).toEqual([['F09F9880']]);
  });

  test.each([
    ['latin1', 'é'],
    ['utf8', 'é'],
    ['utf8mb4', '😀'],
    ['cp1251', 'Ж'],
  ])('what a routine answers after SET NAMES %s is read as what it is', async (name, word) => {
    const answer = await sql(
      `BEGIN NOT ATOMIC SET NAMES ${name}; SELECT _utf8mb4 0x${Buffer.from(word).toString('hex')} AS a, 5 AS b; END`,
    );
    expect(answer.columns.map((column: { name: string }) => column.name)).toEqual(['a', 'b']);
    expect(answer.rows).toEqual([[word, 5]]);
  });
});

describe('a statement that is broken off has changed nothing', () => {
  beforeAll(async () => {
    await sql('CREATE TABLE seen (n int)');
    await sql('CREATE FUNCTION noted(n int) RETURNS int BEGIN INSERT INTO seen VALUES (n); RETURN n; END');
    await sql(
      `CREATE FUNCTION quietly(n int) RETURNS int
       BEGIN DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; INSERT INTO seen VALUES (n); RETURN n; END`,
    );
    await sql('CREATE VIEW noting AS SELECT noted(seq) AS n FROM seq_1_to_12000');
  });
  beforeEach(() => sql('TRUNCATE seen'));

  test.each([
    ['SELECT noted(seq) FROM seq_1_to_12000'],
    ['SELECT quietly(seq) FROM seq_1_to_12000'],
    ['SELECT n FROM noting'],
    ['WITH all_of AS (SELECT noted(seq) AS n FROM seq_1_to_12000) SELECT n FROM all_of'],
  ])('%s is stored in full though its answer is cut', async (statement) => {
    const { rowCount, truncated } = await sql(statement);
    expect({ rowCount, truncated }).toEqual({ rowCount: 10_000, truncated: true });
    expect(await rowsOf('seen', 'COUNT(*)')).toEqual([['12000']]);
  });

  test('what only answers is cut as soon as there is enough', async () => {
    const { rowCount, truncated } = await sql('SELECT a.seq FROM seq_1_to_1000000 a, seq_1_to_1000000 b');
    expect({ rowCount, truncated }).toEqual({ rowCount: 10_000, truncated: true });
  });

  test('what needs more than to read is run as ever', async () => {
    await sql('CREATE OR REPLACE SEQUENCE numbers');
    await sql('INSERT INTO seen VALUES (1), (2)');
    expect((await sql('SELECT n FROM seen FOR UPDATE')).rows).toEqual([[1], [2]]);
    const one = (await sql('SELECT NEXTVAL(numbers)')).rows[0][0];
    expect((await sql('SELECT NEXT VALUE FOR numbers')).rows).toEqual([[String(Number(one) + 1)]]);
    expect((await sql('SELECT SETVAL(numbers, 100)')).rows).toEqual([['100']]);
    expect((await sql("SELECT GET_LOCK('mine', 1) AS held")).rows).toEqual([[1]]);
    expect(await sql('SELECT n INTO @n FROM seen WHERE n = 2')).toMatchObject({ affectedRows: 1, rows: [] });
    // Refused before anything of it is run, so that it is run once.
    expect((await sql('SELECT @n := COALESCE(@n, 0) + 1 AS a, noted(7) AS b')).rows).toEqual([[1, 7]]);
    expect(await rowsOf('seen')).toEqual([[1], [2], [7]]);
    await sql('EXPLAIN UPDATE seen SET n = 0');
    const { body } = (await query(api, made.id, 'SELECT noted(1) FROM nowhere')).expect(400);
    expect(body.sql).toMatchObject({ code: 'ER_NO_SUCH_TABLE', errno: 1146, statement: 1, line: 1 });
  });
});

describe('an import that leaves a transaction open', () => {
  beforeEach(() => sql('CREATE OR REPLACE TABLE kept (n int)'));

  test.each([
    ['SET autocommit = 0; INSERT INTO kept VALUES (1);', 2],
    ['START TRANSACTION; INSERT INTO kept VALUES (1); SELECT * FROM kept;', 3],
    ['BEGIN; INSERT INTO kept VALUES (1); COMMIT AND CHAIN; INSERT INTO kept VALUES (2)', 4],
    ["XA START 'x'; INSERT INTO kept VALUES (1); XA END 'x';", 3],
  ])('is told so: %s', async (text, executed) => {
    const { body } = (await importing(text)).expect(400);
    expect(body).toMatchObject({ code: 'uncommitted_transaction', executed });
    expect(await rowsOf('kept')).toEqual(text.includes('COMMIT') ? [[1]] : []);
  });

  test.each([
    ['SET autocommit = 0; INSERT INTO kept VALUES (1); COMMIT; SET NAMES utf8mb4;'],
    ['START TRANSACTION; INSERT INTO kept VALUES (1); CREATE OR REPLACE TABLE other (n int);'],
    ['SET autocommit = 0; INSERT INTO kept VALUES (1); SET autocommit = 1;'],
  ])('and one that does not is stored: %s', async (text) => {
    (await importing(text)).expect(200);
    expect(await rowsOf('kept')).toEqual([[1]]);
  });

  test('by a single statement it is harmless', async () => {
    await sql('START TRANSACTION');
    await sql('SET autocommit = 0');
    await sql('BEGIN NOT ATOMIC SET autocommit = 0; SELECT * FROM kept; END');
  });
});

test('errors have the names that MariaDB gives them', async () => {
  await sql('CREATE OR REPLACE TABLE checked (n int, p point, CONSTRAINT positive CHECK (n > 0))');
  const told = async (text: string) => {
    const { code, errno } = (await query(api, made.id, text)).expect(400).body.sql;
    return [errno, code];
  };
  expect(await told('INSERT INTO checked (n) VALUES (0)')).toEqual([4025, 'ER_CONSTRAINT_FAILED']);
  expect(await told('DROP SEQUENCE nowhere')).toEqual([4091, 'ER_UNKNOWN_SEQUENCES']);
  expect(await told('SELECT 1 FROM checked WHERE ROW_NUMBER() OVER () = 1')).toEqual([
    4015,
    'ER_WRONG_PLACEMENT_OF_WINDOW_FUNCTION',
  ]);
  expect(await told('SELECT p + 1 FROM checked')).toEqual([4078, 'ER_ILLEGAL_PARAMETER_DATA_TYPES2_FOR_OPERATION']);
  expect(await told("SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 3999")).toEqual([3999, 'ER_3999']);
  expect(await told("SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1999")).toEqual([1999, 'ER_1999']);
  expect(await told('INSERT INTO nowhere VALUES (1)')).toEqual([1146, 'ER_NO_SUCH_TABLE']);
});

test('a row that keeps its values is not counted as changed', async () => {
  await sql('CREATE OR REPLACE TABLE counted (n int)');
  await sql('INSERT INTO counted VALUES (1), (2)');
  expect((await sql('UPDATE counted SET n = n')).affectedRows).toBe(0);
  expect((await sql('UPDATE counted SET n = 2')).affectedRows).toBe(1);
});
