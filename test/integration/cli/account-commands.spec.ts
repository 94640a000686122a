import { berth } from '../../../src/cli/program.js';
import { KeyAuthenticator } from '../../../src/modules/accounts/key-authenticator.js';
import { KeyLookUp } from '../../../src/modules/accounts/key-look-up.js';
import { KeyUsage } from '../../../src/modules/accounts/key-usage.js';
import { createLogger } from '../../../src/platform/observability/logger.js';
import { TestDatabase } from '../../support/database.js';
import { ENTITIES } from '../accounts/account-app.js';

let db: TestDatabase;
let given: string | undefined;

beforeAll(async () => {
  db = await TestDatabase.create(ENTITIES);
  given = process.env['DATABASE_URL'];
  process.env['DATABASE_URL'] = db.url;
});

afterAll(async () => {
  if (given === undefined) delete process.env['DATABASE_URL'];
  else process.env['DATABASE_URL'] = given;
  await db.drop();
});

interface Run {
  code: number;
  out: string;
  err: string;
}

async function run(...args: string[]): Promise<Run> {
  const written = { out: '', err: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    jest.spyOn(process[name], 'write').mockImplementation((text) => {
      written[name === 'stdout' ? 'out' : 'err'] += String(text);
      return true;
    }),
  );
  try {
    return { code: await berth(args), ...written };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

async function json<T = Record<string, unknown>>(...args: string[]): Promise<T> {
  const { code, out, err } = await run(...args, '--json');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return JSON.parse(out) as T;
}

test('an account is made, listed, moved to another plan, suspended and resumed', async () => {
  const made = await json('account', 'create', '--username', 'alice', '--email', 'Alice@Example.test');
  expect(made).toEqual({
    id: expect.stringMatching(/^usr_/) as string,
    username: 'alice',
    email: 'alice@example.test',
    plan: 'free',
    status: 'active',
    createdAt: expect.any(String) as string,
  });
  expect(await json('account', 'list')).toEqual([made]);
  expect(await json('account', 'set-plan', 'alice', 'pro')).toEqual({ ...made, plan: 'pro' });
  expect(await json('account', 'suspend', String(made['id']))).toMatchObject({ status: 'suspended' });
  expect(await json('account', 'resume', 'alice')).toMatchObject({ status: 'active' });
  const { out } = await run('account', 'list');
  expect(out.split('\n')[0]).toMatch(/^ID +USERNAME +EMAIL +PLAN +STATUS +CREATED AT$/);
  expect(out.split('\n')[1]).toContain('alice@example.test');
});

test('a key is printed once, works, and is dead as soon as the command has ended', async () => {
  await json('account', 'create', '--username', 'bob', '--email', 'bob@example.test', '--plan', 'pro');
  const made = await json<{ id: string; key: string }>(
    'key',
    'create',
    '--account',
    'bob',
    '--scopes',
    'read,write',
    '--name',
    'ci',
  );
  expect(made).toMatchObject({
    name: 'ci',
    scopes: ['read', 'write'],
    key: expect.stringMatching(/^svc_[0-9a-f]{48}$/) as string,
  });
  const keys = new KeyAuthenticator(
    new KeyLookUp(db.database),
    new KeyUsage(db.database, createLogger({ logLevel: 'fatal' })),
  );
  expect(await keys.authenticate(made.key, '192.0.2.1')).not.toBeNull();
  const listed = await run('key', 'list', '--account', 'bob', '--json');
  expect(JSON.parse(listed.out)).toMatchObject([{ id: made.id, revokedAt: null }]);
  expect(listed.out).not.toContain(made.key.slice(12));
  expect((await json('key', 'revoke', made.id))['revokedAt']).not.toBeNull();
  expect(await keys.authenticate(made.key, '192.0.2.1')).toBeNull();
});

test('what a name holds does not reach the terminal', async () => {
  await json('account', 'create', '--username', 'carol', '--email', 'carol@example.test');
  const { id } = await json<{ id: string }>('key', 'create', '--account', 'carol', '--scopes', 'read');
  await db.query('UPDATE api_keys SET name = ? WHERE id = ?', ['\u001b[2Jgone', id]);
  const { out } = await run('key', 'list', '--account', 'carol');
  expect(out).toContain('?[2Jgone');
});

test('limits of a plan are changed one by one', async () => {
  const before = (await json<Record<string, unknown>[]>('plan', 'list')).find(({ name }) => name === 'free')!;
  expect(before).toEqual({
    name: 'free',
    servers: 2,
    ram: 1024,
    disk: 5120,
    cpu: 200,
    databases: 1,
    backups: 2,
    buckets: 2,
    storageBytes: 1_073_741_824,
    sites: 2,
    siteDeployments: 5,
    siteBytes: 1_073_741_824,
    machines: 0,
    machineSnapshots: 2,
    nocodeProjects: 3,
    scans: 0,
  });
  const after = await json('plan', 'set', 'free', 'servers=5', 'storage_bytes=53687091200', 'nocodeProjects=0');
  expect(after).toEqual({ ...before, servers: 5, storageBytes: 53_687_091_200, nocodeProjects: 0 });
});

test.each([
  [2, ['account', 'create', '--username', 'x']],
  [2, ['nonsense']],
  [2, ['key', 'revoke']],
  [1, ['account', 'create', '--username', 'Not Valid', '--email', 'a@example.test']],
  [1, ['account', 'create', '--username', 'valid', '--email', 'nobody']],
  [1, ['account', 'create', '--username', 'valid', '--email', 'v@example.test', '--plan', 'golden']],
  [1, ['account', 'create', '--username', 'alice', '--email', 'other@example.test']],
  [1, ['account', 'create', '--username', 'alice2', '--email', 'ALICE@example.test']],
  [1, ['account', 'set-plan', 'nobody', 'pro']],
  [1, ['key', 'create', '--account', 'nobody', '--scopes', 'read']],
  [1, ['key', 'create', '--account', 'alice', '--scopes', 'admin']],
  [1, ['key', 'create', '--account', 'alice', '--scopes', 'read', '--expires', 'yesterday']],
  [1, ['key', 'revoke', 'key_01j9z6m3k4v5w6x7y8z9a0b1c2']],
  [1, ['key', 'revoke', 'nonsense']],
  [1, ['plan', 'set', 'golden', 'servers=1']],
  [1, ['plan', 'set', 'free', 'servers=-1']],
  [1, ['plan', 'set', 'free', 'servers=99999999999']],
  [1, ['plan', 'set', 'free', 'ponies=1']],
])('exit code %i and one line for: berth %j', async (code, args) => {
  const result = await run(...args);
  expect(result).toEqual({ code, out: '', err: expect.stringMatching(/^berth: [^\n]+\n$/) as string });
});

test('a database that is away or refuses is named as such, without its address', async () => {
  const url = new URL(db.url);
  const { password } = url;
  url.password = 'wrong';
  process.env['DATABASE_URL'] = url.href;
  try {
    expect(await run('plan', 'list')).toEqual({ code: 1, out: '', err: 'berth: the database refused the login\n' });
    url.port = '1';
    process.env['DATABASE_URL'] = url.href;
    const { code, err } = await run('plan', 'list');
    expect([code, err]).toEqual([1, 'berth: a backing part cannot be reached (ECONNREFUSED)\n']);
  } finally {
    url.password = password;
    process.env['DATABASE_URL'] = db.url;
  }
});
