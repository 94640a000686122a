import { fc } from '../../../../test/support/fast-check.js';
import { withoutDefiner } from './definers.js';
import { masked } from './masked.js';
import { isBlank, isRead, StatementSplitter, type Statement } from './statement-splitter.js';

function all(text: string, plainBackslashes = false): Statement[] {
  const splitter = new StatementSplitter(text);
  splitter.plainBackslashes = plainBackslashes;
  const found: Statement[] = [];
  for (let next: Statement | null; (next = splitter.next());) found.push(next);
  return found;
}

const texts = (text: string) => all(text).map(({ sql }) => sql);

test.each<[text: string, statements: string[]]>([
  ['SELECT 1;SELECT 2', ['SELECT 1', 'SELECT 2']],
  [';;  ;\n; SELECT 1 ;; ', ['SELECT 1']],
  ['', []],
  ['\ufeffSELECT 1;\r\nSELECT 2;\r\n', ['SELECT 1', 'SELECT 2']],
  ['SELECT \';\', ";", `;`;', ['SELECT \';\', ";", `;`']],
  ["SELECT 'it''s;', 'a\\';', 'b';SELECT 2", ["SELECT 'it''s;', 'a\\';', 'b'", 'SELECT 2']],
  ['SELECT `a\\`;SELECT 2', ['SELECT `a\\`', 'SELECT 2']],
  ['SELECT 1 -- ; no\n;SELECT 2', ['SELECT 1 -- ; no', 'SELECT 2']],
  ['SELECT 1 --;\n', ['SELECT 1 --']],
  ['SELECT 2--1;SELECT 3', ['SELECT 2--1', 'SELECT 3']],
  ['SELECT 1 # ; no\n+ 1;', ['SELECT 1 # ; no\n+ 1']],
  ['SELECT /* ; */ 1;', ['SELECT /* ; */ 1']],
  ["SELECT /* ' */ 1;SELECT /* unended ; ", ["SELECT /* ' */ 1", 'SELECT /* unended ;']],
  ['-- only\n# this\n/* and that */', []],
  ['--\nSELECT 1', ['SELECT 1']],
  ['--no space\nSELECT 1', ['SELECT 1']],
  ["/*!40101 SET a = 'x;y' */;SELECT 1", ["/*!40101 SET a = 'x;y' */", 'SELECT 1']],
  ['/*M!100100 SET b = 1 */;', ['/*M!100100 SET b = 1 */']],
  ['DELIMITER ;;\nBEGIN; END;;\nDELIMITER ;\nSELECT 1;', ['BEGIN; END', 'SELECT 1']],
  ['delimiter //\r\nSELECT 1; //\r\nSELECT 2//', ['SELECT 1;', 'SELECT 2']],
  ['SELECT delimiter FROM t;', ['SELECT delimiter FROM t']],
  ["SELECT '\nDELIMITER //\n';", ["SELECT '\nDELIMITER //\n'"]],
  ['DELIMITER 0123456789abcdef\nSELECT 1;', ['DELIMITER 0123456789abcdef\nSELECT 1']],
  ['/*M!999999\\- enable the sandbox mode */ \nSELECT 1;', ['SELECT 1']],
  ['\\- \nSELECT 1;', ['SELECT 1']],
  ["SELECT 'unended ; ", ["SELECT 'unended ;"]],
])('%j', (text, statements) => {
  expect(texts(text)).toEqual(statements);
});

test('numbers, lines and places count from the beginning of the text', () => {
  expect(
    all('\n-- a\nSELECT 1;\n\n SELECT\n2;').map(({ number, line, start, end }) => [number, line, start, end]),
  ).toEqual([
    [1, 3, 6, 14],
    [2, 5, 18, 26],
  ]);
});

test('where sql_mode makes backslashes plain, they escape no quote', () => {
  expect(all("SELECT '\\';SELECT 2;", true).map(({ sql }) => sql)).toEqual(["SELECT '\\'", 'SELECT 2']);
});

test.each([
  ['SELECT 1 AS "a\\";SELECT 2', ['SELECT 1 AS "a\\"', 'SELECT 2']],
  ['SELECT 1 AS "a\\"";";SELECT 2', ['SELECT 1 AS "a\\"";"', 'SELECT 2']],
  ["SELECT 'a\\';';SELECT 2", ["SELECT 'a\\';'", 'SELECT 2']],
])('where double quotes hold names, backslashes escape nothing in those alone: %s', (text, statements) => {
  const splitter = new StatementSplitter(text);
  splitter.ansiQuotes = true;
  expect([splitter.next()?.sql, splitter.next()?.sql, splitter.next()]).toEqual([...statements, null]);
});

test('D-18: what is left out holds no code, and nothing is lost or given twice', () => {
  const piece = fc.constantFrom(
    ...[
      "'",
      '"',
      '`',
      '\\',
      ';',
      ';;',
      '\n',
      '-- ',
      '--',
      '#',
      '/*',
      '*/',
      '/*!',
      '/*M!',
      'DELIMITER ',
      '//',
      'SELECT 1',
      'x',
      ' ',
      '\r\n',
      '\u0000',
      '😀',
    ],
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const text = pieces.join('');
      let at = 0;
      for (const { sql, start, end } of all(text)) {
        expect(start).toBeGreaterThanOrEqual(at);
        expect(text.slice(start, end)).toBe(sql);
        expect(sql).not.toBe('');
        at = end;
      }
      expect(at).toBeLessThanOrEqual(text.length);
    }),
    { numRuns: 3000 },
  );
});

test.each([
  ['quotes', "'\\'"],
  ['comments that do not end', '/* '],
  ['dashes', '-- -'],
  ['delimiters', ';'],
  ['code for versions', '/*! '],
  ['near delimiters', 'DELIMITER ab\nabaaab a'],
  ['lines', "'\n"],
])('D-18: 8 MiB of %s take time in proportion', (_name, unit) => {
  const statements = (bytes: number) => {
    const text = unit.repeat(Math.ceil(bytes / unit.length));
    const begin = process.cpuUsage().user;
    all(text);
    return process.cpuUsage().user - begin;
  };
  statements(1 << 18);
  // A quadratic one would take a thousand times as long as a quarter of a MiB does.
  expect(statements(1 << 23)).toBeLessThan(1_000_000 + 200 * statements(1 << 18));
});

test.each([
  ['CREATE DEFINER=`root`@`localhost` PROCEDURE p() SELECT 1', 'CREATE  PROCEDURE p() SELECT 1'],
  ["create definer = 'a''b'@'%' view v as select 1", 'create  view v as select 1'],
  ['CREATE DEFINER=root@127.0.0.1 TRIGGER t', 'CREATE  TRIGGER t'],
  ['CREATE DEFINER=CURRENT_USER() FUNCTION f', 'CREATE  FUNCTION f'],
  ['CREATE DEFINER=CURRENT_USER EVENT e', 'CREATE  EVENT e'],
  ['CREATE DEFINER = CURRENT_USER ( ) EVENT e DO SET @a = definer=1', 'CREATE  EVENT e DO SET @a = definer=1'],
  ['CREATE OR REPLACE DEFINER="a"@"%" AGGREGATE FUNCTION f', 'CREATE OR REPLACE  AGGREGATE FUNCTION f'],
  ['CREATE OR REPLACE DEFINER=a@b PACKAGE BODY p', 'CREATE OR REPLACE  PACKAGE BODY p'],
  ['CREATE OR REPLACE ALGORITHM = MERGE DEFINER=a VIEW v', 'CREATE OR REPLACE ALGORITHM = MERGE  VIEW v'],
  ['ALTER DEFINER=a@b SQL SECURITY DEFINER VIEW v', 'ALTER  SQL SECURITY DEFINER VIEW v'],
  [
    '/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013 DEFINER=`a`@`%` SQL SECURITY DEFINER */\n/*!50001 VIEW v AS SELECT 1 */',
    '/*!50001 CREATE ALGORITHM=UNDEFINED */\n/*!50013  SQL SECURITY DEFINER */\n/*!50001 VIEW v AS SELECT 1 */',
  ],
  [
    '/*!50003 CREATE*/ /*!50017 DEFINER=`a`@`%`*/ /*!50003 TRIGGER t BEFORE INSERT ON x FOR EACH ROW SET @a = 1 */',
    '/*!50003 CREATE*/ /*!50017 */ /*!50003 TRIGGER t BEFORE INSERT ON x FOR EACH ROW SET @a = 1 */',
  ],
  [
    'CREATE OR REPLACE /* DEFINER=x */ DEFINER=x VIEW v AS SELECT 1',
    'CREATE OR REPLACE /* DEFINER=x */  VIEW v AS SELECT 1',
  ],
])('the definer goes: %s', (sql, without) => {
  expect(withoutDefiner(sql)).toBe(without);
});

test.each([
  "CREATE TABLE t (definer int DEFAULT 1) COMMENT 'DEFINER=x'",
  "CREATE PROCEDURE p() SELECT 'x' AS DEFINER",
  'CREATE VIEW v AS SELECT definer=1 FROM t',
  "INSERT INTO t VALUES ('CREATE DEFINER=x VIEW')",
  "CREATE OR REPLACE SQL SECURITY DEFINER VIEW dv AS SELECT definer = 'bob' 'isbob' FROM df",
  "CREATE ALGORITHM=MERGE SQL SECURITY DEFINER VIEW dv2 AS SELECT * FROM df WHERE definer = 'bob'",
  'CREATE INVISIBLE definer = x',
  'CREATE UNIQUE INDEX definer ON t (a)',
  'CREATE AGGREGATE FUNCTION definer(definer int) RETURNS int RETURN definer=1',
  "CREATE /* DEFINER=x */ VIEW v AS SELECT 'DEFINER=x' /*!50017 , definer=1 */ FROM t",
  'CREATE PACKAGE BODY definer AS definer=1',
  'SELECT definer = 1',
  '',
])('and nothing else does: %s', (sql) => {
  expect(withoutDefiner(sql)).toBe(sql);
});

test('D-18: the search for a definer stays in proportion', () => {
  for (const unit of ['/*! ', "'", '(', '-- ', '/* x */ ', '`']) withoutDefiner(`CREATE ${unit.repeat(1 << 20)}`);
});

test('D-18: millions of pieces, or one of some million characters, do not overflow anything', () => {
  const sizes = { '#\n': 3_900_000, '-- \n': 1_900_000, '/**/': 1_900_000, '/*!*/': 1_600_000, '=': 7_800_000 };
  for (const [unit, times] of Object.entries(sizes)) {
    const before = `CREATE ${unit.repeat(times)} `;
    expect(withoutDefiner(`${before}TABLE hg (a int)`)).toBe(`${before}TABLE hg (a int)`);
    expect(all(`${before}TABLE hg (a int);`)).toHaveLength(1);
    expect(all(`${unit.repeat(times)}DO 1;`)).toHaveLength(1);
    masked(before);
  }
  expect(withoutDefiner(`CREATE ${'#\n'.repeat(3_900_000)}DEFINER=a VIEW v`)).toMatch(/\n VIEW v$/);
  for (const quote of ["'", '"', '`']) {
    const quoted = quote + 'x'.repeat(7_800_000) + quote;
    for (const sql of [`CREATE ${quoted}`, `CREATE DEFINER=${quoted} VIEW v`]) {
      withoutDefiner(sql);
      expect(all(sql)).toHaveLength(1);
    }
  }
});

test('nothing but comments is blank', () => {
  expect(['', ' ;; ', '-- x', '/* x */ # y'].map(isBlank)).toEqual([true, true, true, true]);
  expect(['SELECT 1', '/*! SELECT 1 */', '-- x\nDO 1'].map(isBlank)).toEqual([false, false, false]);
});

test('what only answers is told from what changes something', () => {
  expect(['select 1', '/* x */ (SELECT 1)', '-- x\nSHOW TABLES', 'WITH a AS (SELECT 1) SELECT 1'].map(isRead)).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect(['INSERT INTO t VALUES (1) RETURNING a', 'CALL p()', '/*! DELETE FROM t */', ''].map(isRead)).toEqual([
    false,
    false,
    false,
    false,
  ]);
});

test('what a log shows of a statement are neither its strings nor its comments', () => {
  expect(masked("INSERT INTO `a'b` VALUES ('se\\'cret', \"se''cret\", 0xdeadbeef, 5) -- secret\n/* secret */")).toBe(
    "INSERT INTO `a'b` VALUES (?, ?, ?, 5)",
  );
  expect(masked(`SELECT '${'secret'.repeat(1000)}`)).toBe('SELECT ?');
  expect(masked(`SELECT ${'1, '.repeat(1000)}`)).toHaveLength(501);
  for (const length of [499, 500, 3999, 4000]) {
    expect(masked(`SELECT ${'a'.repeat(length - 7)}😀 FROM t`).isWellFormed()).toBe(true);
    expect(masked(`SELECT${' '.repeat(length - 6)}😀 FROM t`).isWellFormed()).toBe(true);
  }
});

test('code for some versions is shown in a log as other statements are', () => {
  expect(masked('/*!50000 DROP TABLE ai */')).toBe('/*!50000 DROP TABLE ai */');
  expect(masked('/*M! DROP TABLE k1 */')).toBe('/*M! DROP TABLE k1 */');
  expect(masked("/*!50000 SET @a = 'secret' /* secret */, @b = 0Xaf */")).toBe('/*!50000 SET @a = ? , @b = ? */');
  expect(masked('SELECT 1 /*m! secret */')).toBe('SELECT 1');
});

test('a long comment before a statement does not keep it out of a log', () => {
  expect(masked(`/* ${'secret '.repeat(1000)}*/ DROP TABLE t`)).toBe('DROP TABLE t');
});
