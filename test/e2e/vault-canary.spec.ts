import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { request } from 'undici';
import type { Api } from '../support/api.js';
import { startBerth, type Berth, type TestAccount } from '../support/app.js';

jest.setTimeout(60_000);

let berth: Berth;
let owner: TestAccount;
let panel: Api;
let server: string;

/** What nothing but the answer to a read may hold. */
const canaries: string[] = [];

function canary(): string {
  const text = `canary-${randomBytes(16).toString('hex')}`;
  canaries.push(text);
  return text;
}

/** The same in the spellings that it could hide in. */
function spellings(text: string): Buffer[] {
  const bytes = Buffer.from(text);
  const encoded = (['hex', 'base64', 'base64url'] as const).map((name) => bytes.toString(name).slice(0, -4));
  return [bytes, ...[...encoded, encoded[0]!.toUpperCase()].map((spelling) => Buffer.from(spelling))];
}

function mustNotHold(where: string, content: string | Buffer): void {
  const bytes = Buffer.from(content);
  expect([where, bytes.length > 0]).toEqual([where, true]);
  const found = canaries.filter((text) => spellings(text).some((spelling) => bytes.includes(spelling)));
  expect([where, found]).toEqual([where, []]);
}

beforeAll(async () => {
  berth = await startBerth({ env: { LOG_LEVEL: 'trace' } });
  owner = await berth.makeAccount();
  panel = await berth.signIn(owner);
  const wanted = { name: 'canaries', runtime: 'nodejs', ram: 128, disk: 512, cpu: 25 };
  server = (await owner.api.post('/servers', wanted)).expect(201).body.id as string;
  await owner.api.waitFor(`/servers/${server}`, 'RUNNING', 60);
});
afterAll(() => berth?.close());

test('V-12: no value is in the database, its statements, Redis, the logs, or any process’s environment', async () => {
  const path = `/servers/${server}/vault`;
  await berth.database.query("SET GLOBAL log_output = 'TABLE'");
  await berth.database.query('SET GLOBAL general_log = 1');
  try {
    const sealed = canary();
    const shown = canary();
    await owner.api.put(path, { key: 'SEALED', value: sealed, expiresAt: new Date().toISOString().slice(0, 10) });
    const { id } = (await owner.api.put(path, { key: 'SHOWN', value: shown, sealed: false })).expect(201).body;
    (await owner.api.put(path, { key: 'SEALED', value: canary() })).expect(200);
    (await owner.api.put('/vault', { key: 'SHARED', value: canary() })).expect(201);
    expect((await panel.get(`${path}/${id}/value`)).body.value).toBe(shown);
    (await owner.api.post(`${path}/${id}/seal`)).expect(200);
    (await owner.api.put(path, { key: 'lower', value: canary() })).expect(400);
    (await owner.api.put(path, { key: 'LONG', value: canary().repeat(1000) })).expect(400);
    await berth.database.query('RENAME TABLE vault_secrets TO vault_secrets_away');
    (await owner.api.put(path, { key: 'BROKEN', value: canary() })).expect(500);
    await berth.database.query('RENAME TABLE vault_secrets_away TO vault_secrets');
    const { token } = (await owner.api.post(`${path}/token`, { addressLock: false })).expect(201).body;
    canaries.push(String(token));
    const reader = berth.client('/vault/v1', { authorization: `Bearer ${token}` });
    for (const route of ['/secrets', '/env']) expect((await reader.get(route)).expect(200).text).toContain(shown);
    const [row] = await berth.database.query<{ ip: number }[]>('SELECT ip FROM app_addresses WHERE server_id = ?', [
      server,
    ]);
    const address = [24, 16, 8, 0].map((shift) => Math.floor(row!.ip / 2 ** shift) % 256).join('.');
    const at = new Date().toISOString();
    const read = { id: '00000000-0000-4000-8000-000000000000', serverId: server, address, at, refused: null };
    const answer = await request(`${berth.internalUrl}/internal/node/vault/reads`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${readFileSync(berth.env['NODE_TOKEN_FILE']!, 'utf8').trim()}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ reads: [read], holds: {} }),
    });
    expect(await answer.body.text()).toContain(shown);
  } finally {
    await berth.database.query('SET GLOBAL general_log = 0');
    await berth.database.query("SET GLOBAL log_output = 'FILE'");
  }

  const statements = await berth.database.query('SELECT argument FROM mysql.general_log');
  expect(JSON.stringify(statements)).toContain('vault_secrets');
  mustNotHold('statements', JSON.stringify(statements));
  await berth.database.query('TRUNCATE mysql.general_log');
  mustNotHold('database', await dump());
  mustNotHold('Redis', await redisContent());
  mustNotHold('log', berth.processes.map((one) => one.log()).join('\n'));
  const { pid } = berth.process('api');
  for (const file of ['environ', 'cmdline']) mustNotHold(file, readFileSync(`/proc/${pid}/${file}`));
  for (const other of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const content = readFileSync(`/proc/${other}/environ`);
      if (content.length > 0) mustNotHold(`environment of ${other}`, content);
    } catch {
      // It has ended, or is none of ours.
    }
  }
  expect(JSON.stringify(await berth.database.query('SELECT text FROM notifications'))).not.toMatch(/canary-/);
});

async function dump(): Promise<string> {
  const url = new URL(berth.env['DATABASE_URL']!);
  const args = ['--no-defaults', '--skip-ssl', '-h', url.hostname, '-P', url.port, '-u', url.username, '--hex-blob'];
  const text = execFileSync('mariadb-dump', [...args, url.pathname.slice(1)], {
    env: { PATH: process.env['PATH'], MYSQL_PWD: decodeURIComponent(url.password) },
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  expect(text).toContain('vault_secrets');
  return text;
}

async function redisContent(): Promise<Buffer> {
  const redis = new Redis(berth.env['REDIS_URL']!);
  try {
    const keys = await redis.keys('*');
    const contents = await Promise.all(keys.map((key) => redis.dumpBuffer(key)));
    return Buffer.concat([Buffer.from(keys.join('\n')), ...contents.map((content) => content ?? Buffer.alloc(0))]);
  } finally {
    redis.disconnect();
  }
}
