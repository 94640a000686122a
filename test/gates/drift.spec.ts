import { createConnection, type Connection } from 'mysql2/promise';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { settingNames } from '../../src/config/config.js';
import { stack } from '../support/stack.js';
import { PlantedCopy } from './support/planted-copy.js';

const CLI = 'dist/src/cli/berth.js';

describe('format, types and OpenAPI', () => {
  let copy: PlantedCopy;

  beforeAll(() => {
    copy = new PlantedCopy('dist', 'docs', 'images');
  });

  afterAll(() => copy.remove());

  test('an unformatted file turns the format check red', async () => {
    copy.plant('src/planted.ts', 'export const   x = 1\n');
    const { code, output } = await copy.run(['node_modules/prettier/bin/prettier.cjs', '--check', '.']);
    expect(code).toBe(1);
    expect(output).toContain('src/planted.ts');
  }, 60_000);

  test('a wrong type turns the type check red', async () => {
    copy.plant('src/planted.ts', "export const x: number = 'text';\n");
    const { code, output } = await copy.run(['node_modules/typescript/bin/tsc', '--noEmit']);
    expect(code).not.toBe(0);
    expect(output).toContain('src/planted.ts(1,14): error TS2322');
  }, 60_000);

  test.each(['public', 'panel'])(
    'a route that the committed %s document lacks turns the OpenAPI check red',
    async (surface) => {
      const file = `docs/openapi/${surface}.json`;
      const committed = readFileSync(join(copy.folder, file), 'utf8');
      copy.change(file, (text) => {
        const document = JSON.parse(text) as { paths: Record<string, unknown> };
        delete document.paths[Object.keys(document.paths)[0] ?? ''];
        return JSON.stringify(document, null, 2);
      });
      const { code, output } = await copy.run([CLI, 'openapi', '--check']);
      expect(code).not.toBe(0);
      expect(output).toContain(`${surface}.json`);
      copy.plant(file, committed);
      expect((await copy.run([CLI, 'openapi', '--check'])).code).toBe(0);
    },
    60_000,
  );
});

describe('migrations', () => {
  const schema = `gate_${process.pid}`;
  let copy: PlantedCopy;
  let server: Connection;
  const env = { DATABASE_URL: `${stack.env().DATABASE_URL}/${schema}` };

  beforeAll(async () => {
    copy = new PlantedCopy('dist');
    server = await createConnection({ uri: stack.env().DATABASE_URL ?? '' });
    await server.query(`CREATE DATABASE ${schema}`);
    expect(await copy.run([CLI, 'migrate'], env)).toMatchObject({ code: 0 });
  }, 60_000);

  afterAll(async () => {
    await server.query(`DROP DATABASE ${schema}`);
    await server.end();
    copy.remove();
  });

  test('a schema as the entities say passes, one column more or less does not', async () => {
    expect(await copy.run([CLI, 'migrate', '--check'], env)).toMatchObject({ code: 0 });
    await server.query(`ALTER TABLE ${schema}.accounts ADD COLUMN planted INT NULL`);
    const { code, output } = await copy.run([CLI, 'migrate', '--check'], env);
    expect(code).not.toBe(0);
    expect(output).toContain('planted');
  }, 60_000);
});

test('.env.example lists every setting and nothing else', () => {
  const lines = readFileSync(join(import.meta.dirname, '..', '..', '.env.example'), 'utf8').split('\n');
  const listed = lines.flatMap((line) => /^([A-Z][A-Z0-9_]*)=/.exec(line)?.[1] ?? []);
  expect([...listed].sort()).toEqual([...settingNames()].sort());
});
