import { Controller, Get, Post } from '@nestjs/common';
import { request as httpRequest } from 'node:http';
import { PublicApi } from '../../../src/platform/auth/public-api.decorator.js';
import { Scope } from '../../../src/platform/auth/scope.decorator.js';
import { AccountsService } from '../../../src/modules/accounts/accounts.service.js';
import { ApiKeysService, type NewApiKey } from '../../../src/modules/accounts/api-keys.service.js';
import { QuotaLock } from '../../../src/modules/accounts/quota-lock.service.js';
import { EventRecorder, SYSTEM } from '../../../src/platform/events/event-recorder.js';
import { TestDatabase } from '../../support/database.js';
import { type AccountApp, ENTITIES, startAccountApp } from './account-app.js';

@PublicApi('things')
class ThingsController {
  @Post()
  @Scope('write')
  make(): object {
    return { made: true };
  }
}

let db: TestDatabase;
let app: AccountApp;
let accounts: AccountsService;
let keys: ApiKeysService;
let accountId: string;

beforeAll(async () => {
  db = await TestDatabase.create(ENTITIES);
  app = await startAccountApp(db.url, {}, [ThingsController]);
  accounts = new AccountsService(db.database);
  keys = new ApiKeysService(db.database, new EventRecorder(db.database), new QuotaLock());
  accountId = (await accounts.create({ username: 'alice', email: 'alice@example.test' })).id;
});

afterAll(async () => {
  await app.close();
  await db.drop();
});

const makeKey = (wanted: NewApiKey = {}) => keys.create(accountId, wanted, SYSTEM);

/** Sends exactly these bytes as the header; fetch would tidy them. */
function me(authorization: string | undefined, { path = '/api/v1/me', method = 'GET', body = '' } = {}) {
  return new Promise<{ status: number; body: Record<string, unknown>; challenge: string | undefined }>(
    (resolve, reject) => {
      const headers = {
        ...(authorization === undefined ? {} : { authorization }),
        ...(body ? { 'content-type': 'application/json' } : {}),
      };
      const request = httpRequest(app.url + path, { method, headers }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => (text += chunk));
        response.on('end', () =>
          resolve({
            status: response.statusCode!,
            body: JSON.parse(text) as Record<string, unknown>,
            challenge: response.headers['www-authenticate'],
          }),
        );
      });
      request.on('error', reject);
      request.end(body);
    },
  );
}

function withoutTraces({ requestId: _id, instance: _instance, ...rest }: Record<string, unknown>) {
  return rest;
}

test('a valid key is answered with the account and nothing else', async () => {
  const { key } = await makeKey();
  const { status, body } = await me(`Bearer ${key}`);
  expect(status).toBe(200);
  expect(body).toEqual({ id: accountId, username: 'alice', email: 'alice@example.test' });
});

test('every credential that is no valid key gets the same 401', async () => {
  const { key } = await makeKey();
  const revoked = await makeKey();
  await keys.revoke(accountId, revoked.id, SYSTEM);
  const expired = await makeKey();
  await db.query('UPDATE api_keys SET expires_at = ? WHERE id = ?', [new Date(Date.now() - 1), expired.id]);
  const elsewhere = await makeKey({ allowedAddresses: ['192.0.2.0/24', '2001:db8::/32'] });
  const suspended = await accounts.create({ username: 'bob', email: 'bob@example.test' });
  const ofSuspended = await keys.create(suspended.id, {}, SYSTEM);
  await accounts.setStatus('bob', 'suspended');
  const reference = withoutTraces((await me(undefined)).body);
  expect(reference).toMatchObject({ status: 401, code: 'unauthenticated' });

  const table: Record<string, [string | undefined, object?]> = {
    absent: [undefined],
    empty: [''],
    'scheme only': ['Bearer'],
    'scheme and blank': ['Bearer '],
    unknown: [`Bearer svc_${'0'.repeat(48)}`],
    'no scheme': [key],
    basic: [`Basic ${Buffer.from(`${key}:`).toString('base64')}`],
    'basic with the key': [`Basic ${key}`],
    'upper case': [`Bearer ${key.toUpperCase()}`],
    'upper case hexadecimal': [`Bearer svc_${key.slice(4).toUpperCase()}`],
    'trailing character': [`Bearer ${key}a`],
    'cut short': [`Bearer ${key.slice(0, -1)}`],
    'second word': [`Bearer ${key} x`],
    'double space': [`Bearer  ${key}`],
    tab: [`Bearer\t${key}`],
    comma: [`Bearer ${key},`],
    quoted: [`Bearer "${key}"`],
    'not hexadecimal': [`Bearer svc_${'g'.repeat(48)}`],
    'sql in it': [`Bearer svc_${"' OR 1=1 -- ".padEnd(48, '0')}`],
    query: [undefined, { path: `/api/v1/me?access_token=${key}` }],
    body: [undefined, { method: 'POST', path: '/api/v1/things', body: JSON.stringify({ access_token: key }) }],
    revoked: [`Bearer ${revoked.key}`],
    expired: [`Bearer ${expired.key}`],
    'another address': [`Bearer ${elsewhere.key}`],
    'suspended account': [`Bearer ${ofSuspended.key}`],
  };
  for (const [name, [authorization, options]] of Object.entries(table)) {
    const answer = await me(authorization, options);
    expect({ name, ...answer, body: withoutTraces(answer.body) }).toEqual({
      name,
      status: 401,
      body: reference,
      challenge: 'Bearer',
    });
  }
});

test('a token in the query beside a valid header does not matter', async () => {
  const { key } = await makeKey();
  expect((await me(`Bearer ${key}`, { path: '/api/v1/me?access_token=x' })).status).toBe(200);
  expect((await me(`bearer ${key}`)).status).toBe(200);
});

test('an address-limited key works from its addresses', async () => {
  const { key } = await makeKey({ allowedAddresses: ['192.0.2.7', '127.0.0.0/8'] });
  expect((await me(`Bearer ${key}`)).status).toBe(200);
});

test.each(['::ffff:127.0.0.1', '::FFFF:7f00:1', '::ffff:127.0.0.0/104'])(
  'a key limited to %s works from IPv4 addresses',
  async (address) => {
    const { key } = await makeKey({ allowedAddresses: [address] });
    expect((await me(`Bearer ${key}`)).status).toBe(200);
  },
);

test.each([
  [new Date(Date.now() - 1000), 'not_in_future'],
  [new Date('9999-12-31T00:00:00Z'), 'too_far'],
  [new Date('never'), 'date'],
])('a key that expires at %s is refused: %s', async (expiresAt, code) => {
  await expect(makeKey({ expiresAt })).rejects.toMatchObject({ extra: { errors: [{ field: 'expiresAt', code }] } });
});

test('an account has at most a hundred live keys, however many are asked for at once', async () => {
  const { id } = await accounts.create({ username: 'hoarder', email: 'hoarder@example.test' });
  const expired = await keys.create(id, {}, SYSTEM);
  await db.query('UPDATE api_keys SET expires_at = ? WHERE id = ?', [new Date(Date.now() - 1), expired.id]);
  const first = await keys.create(id, { expiresAt: new Date(Date.now() + 3_600_000) }, SYSTEM);
  for (let n = 1; n < 97; n++) await keys.create(id, {}, SYSTEM);
  const made = await Promise.allSettled(Array.from({ length: 8 }, () => keys.create(id, {}, SYSTEM)));
  expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
  const limit = { name: 'apiKeys', allowed: 100, used: 100, requested: 1 };
  await expect(keys.create(id, {}, SYSTEM)).rejects.toMatchObject({
    kind: 'forbidden',
    code: 'quota_exceeded',
    extra: { members: { limit } },
  });
  await keys.revoke(id, first.id, SYSTEM);
  await keys.create(id, {}, SYSTEM);
});

test('a key without write is refused on a write route before the body is looked at, and may read', async () => {
  const { key } = await makeKey({ scopes: ['read'] });
  const refused = await me(`Bearer ${key}`, { method: 'POST', path: '/api/v1/things', body: '{broken' });
  expect(refused).toMatchObject({ status: 403, body: { code: 'scope_missing', requiredScope: 'write' } });
  const writer = await makeKey({ scopes: ['write'] });
  expect((await me(`Bearer ${writer.key}`)).status).toBe(200);
  expect((await me(`Bearer ${writer.key}`, { method: 'POST', path: '/api/v1/things' })).status).toBe(201);
});

test('revoking takes effect between two requests of one connection, in the middle of traffic', async () => {
  const { key, id } = await makeKey();
  const before = await Promise.all(Array.from({ length: 40 }, () => me(`Bearer ${key}`)));
  expect(new Set(before.map(({ status }) => status))).toEqual(new Set([200]));
  await keys.revoke(accountId, id, SYSTEM);
  const after = await Promise.all(Array.from({ length: 40 }, () => me(`Bearer ${key}`)));
  expect(new Set(after.map(({ status }) => status))).toEqual(new Set([401]));
});

test('requests at the same time are never taken for each other', async () => {
  const names = Array.from({ length: 12 }, (_, i) => `crowd-${i}`);
  const credentials = await Promise.all(
    names.map(async (username) => {
      const { id } = await accounts.create({ username, email: `${username}@example.test` });
      return { username, authorization: `Bearer ${(await keys.create(id, {}, SYSTEM)).key}` };
    }),
  );
  const nobody = { username: undefined, authorization: `Bearer svc_${'2'.repeat(48)}` };
  const asked = Array.from({ length: 240 }, (_, i) => (i % 5 === 4 ? nobody : credentials[i % credentials.length]!));
  const answers = await Promise.all(asked.map(({ authorization }) => me(authorization)));
  expect(answers.map(({ body }) => body['username'])).toEqual(asked.map(({ username }) => username));
});

test('the last use is written soon, once, and by an orderly end at the latest', async () => {
  const second = await startAccountApp(db.url);
  const { key, id } = await makeKey();
  const start = Date.now();
  const response = await fetch(`${second.url}/api/v1/me`, { headers: { authorization: `Bearer ${key}` } });
  expect(response.status).toBe(200);
  await second.close();
  const [row] = await db.query<{ at: Date | null }[]>('SELECT last_used_at AS at FROM api_keys WHERE id = ?', [id]);
  expect(row!.at!.getTime()).toBeGreaterThanOrEqual(start);
  await me(`Bearer ${key}`);
  const [again] = await db.query<{ at: Date | null }[]>('SELECT last_used_at AS at FROM api_keys WHERE id = ?', [id]);
  expect(again!.at).toEqual(row!.at);
});

test('a key is kept as its hash, and its making and end are in the activity log', async () => {
  const made = await makeKey({ name: 'ci' });
  await keys.revoke(accountId, made.id, SYSTEM);
  await keys.revoke(accountId, made.id, SYSTEM);
  const [row] = await db.query('SELECT * FROM api_keys WHERE id = ?', [made.id]);
  expect(JSON.stringify(row)).not.toContain(made.key.slice(12));
  expect(made.prefix).toBe(made.key.slice(0, 12));
  const events = await db.query('SELECT event, properties FROM activity_events WHERE resource_id = ? ORDER BY id', [
    made.id,
  ]);
  expect(events.map(({ event }) => event)).toEqual(['user:api-key.create', 'user:api-key.delete']);
  expect(JSON.stringify(events)).not.toContain(made.key.slice(12));
});

test('/me costs one query', async () => {
  const { key } = await makeKey();
  await me(`Bearer ${key}`);
  const count = async () => {
    const rows = await db.query<{ n: string }[]>(
      "SELECT VARIABLE_VALUE AS n FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'COM_SELECT'",
    );
    return Number(rows[0]!.n);
  };
  // Others use the server meanwhile; the least of several tries is what the request itself costs.
  let least = Infinity;
  for (let i = 0; i < 300 && least > 1; i++) {
    const before = await count();
    await me(`Bearer ${key}`);
    least = Math.min(least, (await count()) - before - 1);
  }
  expect(least).toBe(1);
});

test('an address that tries one wrong key after another is told to wait, and valid keys go on', async () => {
  const limited = await startAccountApp(db.url, { RATE_LIMIT_PER_MINUTE: '120', TRUSTED_PROXIES: '127.0.0.1' });
  try {
    const from = `198.51.100.${Math.floor(Math.random() * 250)}`;
    const ask = (authorization: string, address = from) =>
      fetch(`${limited.url}/api/v1/me`, { headers: { authorization, 'x-forwarded-for': address } });
    const wrong = (n: number) => `Bearer svc_${String(n).padStart(48, '0')}`;
    for (let i = 0; i < 40; i++) expect((await ask(wrong(0))).status).toBe(401);
    for (let i = 1; i < 30; i++) expect((await ask(wrong(i))).status).toBe(401);
    const refused = await ask(wrong(30));
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await ask(`Bearer ${(await makeKey()).key}`)).status).toBe(200);
    expect((await ask('Bearer nothing')).status).toBe(401);
    expect((await ask(wrong(31), '203.0.113.9')).status).toBe(401);
  } finally {
    await limited.close();
  }
});

test('a database that fails tells nobody about itself, and refuses no key', async () => {
  const broken = await TestDatabase.create(ENTITIES);
  const failing = await startAccountApp(broken.url, { RATE_LIMIT_PER_MINUTE: '120', TRUSTED_PROXIES: '127.0.0.1' });
  try {
    const from = `203.0.113.${Math.floor(Math.random() * 250)}`;
    await broken.query('RENAME TABLE accounts TO accounts_gone');
    for (let i = 0; i < 35; i++) {
      const authorization = `Bearer svc_${String(i).padStart(48, '7')}`;
      const response = await fetch(`${failing.url}/api/v1/me`, {
        headers: { authorization, 'x-forwarded-for': from },
      });
      expect(response.status).toBeGreaterThanOrEqual(500);
      expect(await response.text()).not.toMatch(/accounts|SELECT/);
    }
  } finally {
    await failing.close();
    await broken.drop();
  }
});

test('an application with a route of undeclared access does not start', async () => {
  @PublicApi('open')
  class NoScope {
    @Get()
    read(): object {
      return {};
    }
  }
  @Controller('api/v1/bare')
  class NoGuard {
    @Get()
    @Scope('read')
    read(): object {
      return {};
    }
  }
  await expect(startAccountApp(db.url, {}, [NoScope])).rejects.toThrow(/NoScope\.read/);
  await expect(startAccountApp(db.url, {}, [NoGuard])).rejects.toThrow(/NoGuard\.read/);
});

test('no key ever reaches the log', () => {
  expect(app.log()).not.toMatch(/svc_[0-9a-f]{48}/);
});
