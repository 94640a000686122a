import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createDataSource } from '../../../src/platform/database/data-source.js';
import { Database } from '../../../src/platform/database/database.js';
import { ENTITIES } from '../../../src/modules/entities.js';
import { TestDatabase } from '../../support/database.js';
import { tenantHost, tenantLink, TestDatabaseHosts } from '../../support/database-host.js';
import { stack } from '../../support/stack.js';
import { asHost } from './support.js';

const run = promisify(execFile);
const CLI = join(import.meta.dirname, '..', '..', '..', 'dist', 'src', 'cli', 'berth.js');

let database: TestDatabase;
let hosts: TestDatabaseHosts;
let folder: string;
let passwordFile: string;

beforeAll(async () => {
  database = await TestDatabase.create(ENTITIES);
  hosts = new TestDatabaseHosts(database.database, stack.env());
  folder = mkdtempSync(join(tmpdir(), 'berth-hosts-'));
  passwordFile = join(folder, 'password');
  writeFileSync(passwordFile, `${tenantHost().password}\n`, { mode: 0o600 });
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await database?.drop();
});

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

async function berth(...args: string[]): Promise<Ended> {
  const env = { ...stack.env(), DATABASE_URL: database.url, PATH: '/usr/bin:/bin' };
  try {
    return {
      code: 0,
      ...(await run(process.execPath, [CLI, 'database-host', ...args, '--json'], { env, cwd: folder })),
    };
  } catch (error) {
    return error as Ended;
  }
}

const added = (...more: string[]) => {
  const { address, port, user } = tenantHost();
  const where = ['--host', address, '--port', String(port), '--user', user, '--password-file', passwordFile];
  return berth('add', '--name', 'first', ...where, '--capacity', '10', ...more);
};

test('a host is added, shown, changed, checked and forgotten', async () => {
  const { stdout } = await added('--service-host', '10.1.2.3', '--service-port', '3306');
  const made = JSON.parse(stdout) as Record<string, unknown>;
  expect(made).toMatchObject({
    name: 'first',
    serviceAddress: '10.1.2.3',
    servicePort: 3306,
    capacity: 10,
    fault: null,
  });
  expect(JSON.parse((await added('--capacity', '20')).stdout)).toMatchObject({ id: made['id'], capacity: 20 });
  const listed = (await berth('list')).stdout;
  expect(JSON.parse(listed)).toEqual([expect.objectContaining({ id: made['id'], encrypted: false, databases: 0 })]);
  expect(JSON.parse((await berth('check', 'first')).stdout)).toMatchObject({ fault: null });
  const [row] = await database.query('SELECT sealed_password AS sealed FROM database_hosts');
  const { password } = tenantHost();
  expect(Buffer.from(row!['sealed'] as Buffer).includes(password)).toBe(false);
  expect(listed + stdout).not.toContain(password);
  expect((await berth('remove', 'first')).code).toBe(0);
  expect(JSON.parse((await berth('list')).stdout)).toEqual([]);
  expect((await berth('check', 'first')).code).toBe(1);
});

test.each<[string, string[], RegExp]>([
  ['a wrong name', ['--name', 'First_Host'], /name/],
  ['a port beyond all', ['--port', '70000'], /port/],
  ['more databases than it has sessions for', ['--capacity', '200'], /max_connections/],
  ['another machine without a certificate', ['--host', '192.0.2.77'], /certificate/],
  ['another account', ['--user', 'nobody'], /refused the login/],
  ['a port where nothing is', ['--port', '1'], /away/],
])('refused: %s', async (_name, more, message) => {
  const { code, stderr } = await added(...more);
  expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
  expect(stderr).not.toContain(tenantHost().password);
});

test('a password that others can read is none', async () => {
  chmodSync(passwordFile, 0o644);
  const { code, stderr } = await added();
  chmodSync(passwordFile, 0o600);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/0600/)]);
});

test('a server that is not hardened is refused, and says why', async () => {
  const { hostname, port, username, password } = new URL(stack.env()['DATABASE_URL']!);
  const own = { address: hostname, port: Number(port), user: username, password: decodeURIComponent(password) };
  const adding = hosts.add({ name: 'own', ...own, serviceAddress: hostname, servicePort: Number(port) });
  await expect(adding).rejects.toMatchObject({ code: 'host_not_hardened' });
  await expect(adding).rejects.toThrow(
    /symbolic links.*enforce_storage_engine.*innodb_temp_data_file_path.*innodb_undo_log_truncate/,
  );
});

test('the platform’s own server is refused, however hardened it is', async () => {
  const { port, user, password } = tenantHost();
  const source = createDataSource({
    url: `mysql://${user}:${password}@127.0.0.1:${port}/mysql`,
    poolSize: 1,
    entities: [],
  });
  await source.initialize();
  try {
    const same = new TestDatabaseHosts(new Database(source), stack.env());
    await expect(same.add()).rejects.toMatchObject({ code: 'own_database' });
  } finally {
    await source.destroy();
  }
});

test.each([
  ['local_infile', 'ON', /local_infile/],
  ['enforce_storage_engine', 'MyISAM', /enforce_storage_engine/],
  ['tmp_disk_table_size', '18446744073709551615', /tmp_disk_table_size/],
  ['max_allowed_packet', '1073741824', /max_allowed_packet/],
  ['innodb_undo_log_truncate', 'OFF', /innodb_undo_log_truncate/],
])('a host that lost %s is seen, and nothing is put on it', async (variable, value, fault) => {
  await hosts.add({ name: 'losing' });
  const before = await asHost(async (host) => {
    const [[row]] = (await host.query(`SELECT @@GLOBAL.${variable}`)) as unknown as [[[string | number]]];
    await host.query(`SET GLOBAL ${variable} = ${/^\d+$/.test(value) ? value : `'${value}'`}`);
    return row[0];
  });
  try {
    expect((await hosts.registration.check('losing')).fault).toMatch(fault);
    expect((await tenantLink().inspect()).faults).toEqual([expect.stringMatching(fault)]);
  } finally {
    await asHost((host) => host.query(`SET GLOBAL ${variable} = ?`, [before]));
  }
  expect((await hosts.registration.check('losing')).fault).toBeNull();
});
