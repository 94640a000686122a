import type { Api } from '../support/api.js';
import { startBerth, type Berth, type TestAccount } from '../support/app.js';
import { until } from '../support/until.js';
import { vaultedService } from '../support/vaulted-service.js';

jest.setTimeout(60_000);

let berth: Berth;
let owner: TestAccount;
let panel: Api;
let other: TestAccount;
let server: string;

beforeAll(async () => {
  berth = await startBerth();
  [owner, other] = [await berth.makeAccount(), await berth.makeAccount()];
  panel = await berth.signIn(owner);
  server = await makeServer();
});
afterAll(() => berth?.close());

const stock: string[] = [];

/** One that nobody else was given. They are made several at a time, as most of it is waiting. */
async function makeServer(): Promise<string> {
  if (stock.length === 0)
    stock.push(...(await Promise.all(Array.from({ length: 8 }, () => vaultedService(owner.api)))));
  return stock.pop()!;
}

interface Entry {
  id: string;
  version: number;
  [name: string]: unknown;
}

async function put(path: string, secret: object, status = 201): Promise<Entry> {
  return (await owner.api.put(path, secret)).expect(status).body as Entry;
}

async function tokenOf(id: string, addressLock?: boolean): Promise<Api> {
  const { token } = (await owner.api.post(`/servers/${id}/vault/token`, { addressLock })).expect(201).body as {
    token: string;
  };
  expect(token).toMatch(/^evt_[0-9a-f]{48}$/);
  return berth.client('/vault/v1', { authorization: `Bearer ${token}` });
}

async function access(id: string): Promise<any[]> {
  return (await owner.api.get(`/servers/${id}/vault/access`)).expect(200).body as any[];
}

test('a secret is made, replaced, listed without its value, and deleted; its key goes on with higher versions', async () => {
  const path = `/servers/${server}/vault`;
  const made = await put(path, { key: 'FIRST', value: 'one', note: 'a note', expiresAt: '2031-12-31' });
  expect(made).toMatchObject({ key: 'FIRST', scope: 'container', sealed: true, note: 'a note', size: 3, version: 1 });
  expect(made).toMatchObject({ expiresAt: '2031-12-31', lastReadAt: null });
  const again = await put(path, { key: 'FIRST', value: 'one', sealed: false }, 200);
  expect(again).toMatchObject({ id: made.id, version: 2, note: 'a note', expiresAt: '2031-12-31', sealed: false });
  expect(again['fingerprint']).toBe(made['fingerprint']);
  const third = await put(path, { key: 'FIRST', value: 'öne', note: null, expiresAt: null }, 200);
  expect(third).toMatchObject({ version: 3, size: 4, note: null, expiresAt: null });
  expect(third['fingerprint']).not.toBe(made['fingerprint']);
  const listed = (await owner.api.get(path)).expect(200);
  expect(listed.body).toEqual([third]);
  expect(listed.text).not.toContain('öne');
  (await owner.api.delete(`${path}/${made.id}`)).expect(204);
  (await owner.api.delete(`${path}/${made.id}`)).expect(404);
  expect((await owner.api.get(path)).body).toEqual([]);
  const back = await put(path, { key: 'FIRST', value: 'one' });
  expect(back.version).toBe(4);
  expect(back.id).not.toBe(made.id);
  (await owner.api.delete(`${path}/${back.id}`)).expect(204);
});

test.each([
  ['a key in lower case', { key: 'lower', value: 'x' }],
  ['a key that starts with a digit', { key: '1A', value: 'x' }],
  ['a key of 129 characters', { key: 'K'.repeat(129), value: 'x' }],
  ['a value with NUL', { key: 'A', value: 'a\0b' }],
  ['half of a surrogate pair', { key: 'A', value: '\ud800' }],
  ['32 KiB and one', { key: 'A', value: 'x'.repeat(32_769) }],
  ['32 KiB in characters, more in bytes', { key: 'A', value: 'ö'.repeat(16_385) }],
  ['a day that is none', { key: 'A', value: 'x', expiresAt: '2031-02-30' }],
  ['a moment for a day', { key: 'A', value: 'x', expiresAt: '2031-02-03T00:00:00Z' }],
  ['a note of 501 characters', { key: 'A', value: 'x', note: 'n'.repeat(501) }],
])('%s is refused, and the value is not repeated', async (_name, secret) => {
  const answer = (await owner.api.put(`/servers/${server}/vault`, secret)).expect(400);
  expect(answer.body.code).toBe('validation_failed');
  if (secret.value.length > 10) expect(answer.text).not.toContain(secret.value.slice(0, 100));
});

test('a consultable value is shown in the panel only, a sealed one nowhere, and sealing has no way back', async () => {
  const path = `/servers/${server}/vault`;
  const { id } = await put(path, { key: 'SHOWN', value: 'for eyes', sealed: false });
  expect((await panel.get(`${path}/${id}/value`)).expect(200).body).toEqual({ id, key: 'SHOWN', value: 'for eyes' });
  (await owner.api.get(`${path}/${id}/value`)).expect(404);
  expect((await access(server))[0]).toMatchObject({ via: 'panel', keys: ['SHOWN'], refused: false, reason: null });
  const sealed = (await owner.api.post(`${path}/${id}/seal`)).expect(200).body as Entry;
  expect(sealed).toMatchObject({ id, sealed: true, version: 2 });
  expect((await owner.api.post(`${path}/${id}/seal`)).expect(200).body).toEqual(sealed);
  expect((await panel.get(`${path}/${id}/value`)).expect(409).body.code).toBe('secret_sealed');
  const token = await tokenOf(server, false);
  expect((await token.get('/secrets')).body).toEqual({ SHOWN: 'for eyes' });
  const replaced = await put(path, { key: 'SHOWN', value: 'new', sealed: false }, 200);
  expect(replaced).toMatchObject({ id, sealed: false, version: 3 });
  expect((await panel.get(`${path}/${id}/value`)).body.value).toBe('new');
  (await owner.api.delete(`${path}/${id}`)).expect(204);
});

test('a secret of the container hides one of the account; what others have is nobody’s affair', async () => {
  const id = await makeServer();
  const path = `/servers/${id}/vault`;
  const shared = await put('/vault', { key: 'SHARED', value: 'of the account' });
  await put('/vault', { key: 'MORE', value: 'more' });
  const own = await put(path, { key: 'SHARED', value: 'of the container' });
  const listed = (await owner.api.get(path)).body as Entry[];
  expect(listed.map(({ key, scope }) => [key, scope])).toEqual([
    ['MORE', 'account'],
    ['SHARED', 'container'],
  ]);
  expect(own['fingerprint']).not.toBe(shared['fingerprint']);
  const token = await tokenOf(id, false);
  expect((await token.get('/secrets')).body).toEqual({ MORE: 'more', SHARED: 'of the container' });
  (await owner.api.delete(`${path}/${shared.id}`)).expect(404);
  (await owner.api.delete(`/vault/${own.id}`)).expect(404);
  (await owner.api.delete(`${path}/${own.id}`)).expect(204);
  expect((await token.get('/secrets')).body).toEqual({ MORE: 'more', SHARED: 'of the account' });
  for (const [method, to] of [
    ['GET', path],
    ['GET', `${path}/access`],
    ['POST', `${path}/token`],
    ['POST', `${path}/${shared.id}/seal`],
    ['DELETE', `/vault/${shared.id}`],
  ] as const)
    (await other.api.send(method, to, method === 'POST' ? { json: {} } : {})).expect(404);
  expect((await other.api.get('/vault')).body).toEqual([]);
  for (const entry of (await owner.api.get('/vault')).body as Entry[])
    (await owner.api.delete(`/vault/${entry.id}`)).expect(204);
});

test('D8: 200 secrets and 1 MiB of a scope, and no more', async () => {
  const id = await makeServer();
  const path = `/servers/${id}/vault`;
  const large = 'x'.repeat(32_768);
  await Promise.all(Array.from({ length: 32 }, (_, n) => put(path, { key: `LARGE_${n}`, value: large })));
  const full = (await owner.api.put(path, { key: 'ONE', value: 'x' })).expect(403).body;
  expect(full).toMatchObject({ code: 'quota_exceeded', limit: { name: 'secretBytes', allowed: 1_048_576 } });
  await Promise.all(Array.from({ length: 32 }, (_, n) => put(path, { key: `LARGE_${n}`, value: '' }, 200)));
  await Promise.all(Array.from({ length: 168 }, (_, n) => put(path, { key: `SMALL_${n}`, value: '' })));
  const many = (await owner.api.put(path, { key: 'ONE_MORE', value: '' })).expect(403).body;
  expect(many.limit).toEqual({ name: 'secrets', allowed: 200, used: 200, requested: 1 });
  await put(path, { key: 'SMALL_1', value: 'still replaced' }, 200);
  expect((await owner.api.get(path)).body).toHaveLength(200);
});

describe('the runtime token', () => {
  test('answers JSON and .env, reads one service, and nothing else takes it', async () => {
    const id = await makeServer();
    await put(`/servers/${id}/vault`, { key: 'QUOTED', value: `it's "$x"` });
    await put(`/servers/${id}/vault`, { key: 'PLAIN', value: 'a=b' });
    await put(`/servers/${id}/vault`, { key: 'LINES', value: 'a\nb' });
    const token = await tokenOf(id, false);
    const secrets = (await token.get('/secrets')).expect(200);
    expect(secrets.body).toEqual({ LINES: 'a\nb', PLAIN: 'a=b', QUOTED: `it's "$x"` });
    expect(secrets.header('content-type')).toBe('application/json; charset=utf-8');
    expect(secrets.header('cache-control')).toBe('no-store');
    const env = (await token.get('/env')).expect(200);
    expect(env.text).toBe(`LINES='a\nb'\nPLAIN=a=b\nQUOTED="it's \\"\\$x\\""\n`);
    expect(env.header('content-type')).toBe('text/plain; charset=utf-8');
    expect(env.header('x-vault-nonportable')).toBe('QUOTED');
    const { authorization } = token.headers as { authorization: string };
    (await berth.client('/api/v1', { authorization }).get('/me')).expect(401);
    (await berth.client('/vault/v1', { authorization: `Bearer ${owner.key}` }).get('/secrets')).expect(401);
    (await token.send('POST', '/secrets', { json: {} })).expect(405);
    (await berth.client('/vault/v1').get(`/secrets?access_token=${authorization.slice(7)}`)).expect(401);
    const listed = (await owner.api.get(`/servers/${id}/vault`)).text;
    expect(listed).not.toContain('a=b');
    await until('read dates', async () => {
      const entries = (await owner.api.get(`/servers/${id}/vault`)).body as Entry[];
      return entries.every(({ lastReadAt }) => lastReadAt !== null);
    });
  });

  test('V-16: a replaced token is dead from the moment the new one is known, under load', async () => {
    const id = await makeServer();
    let current = await tokenOf(id, false);
    for (let round = 0; round < 5; round++) {
      let replaced = false;
      const load = Array.from({ length: 8 }, async () => {
        while (!replaced) (await current.get('/secrets')).expect(200, 401);
      });
      const next = await tokenOf(id, false);
      const statuses = await Promise.all(Array.from({ length: 8 }, async () => (await current.get('/secrets')).status));
      replaced = true;
      await Promise.all(load);
      expect(statuses).toEqual(Array(8).fill(401));
      current = next;
    }
  });

  test('with the lock it works from nodes only; refusals are recorded, and say nothing of what there is', async () => {
    const id = await makeServer();
    await put(`/servers/${id}/vault`, { key: 'LOCKED', value: 'x' });
    await berth.database.query("UPDATE nodes SET address = '192.0.2.10'");
    const token = await tokenOf(id);
    const refused = await until('address lock', async () => {
      const answer = await token.get('/secrets');
      return answer.status === 403 && answer;
    });
    expect(refused.body).toMatchObject({ code: 'address_lock', detail: 'The secrets are not given here.' });
    expect((await access(id))[0]).toMatchObject({
      via: 'token',
      address: '127.0.0.1',
      keys: [],
      refused: true,
      reason: 'address_lock',
    });
    (await token.with({ 'x-forwarded-for': '192.0.2.10' }).get('/secrets')).expect(403);
    expect((await access(id))[0].address).toBe('127.0.0.1');
    await berth.database.query("UPDATE nodes SET address = '::ffff:127.0.0.1'");
    await until('node known', async () => (await token.get('/secrets')).status === 200);
    await berth.database.query('UPDATE nodes SET address = NULL');
  });

  test('a suspended account is refused, a deleted service’s token is dead and its secrets are gone', async () => {
    const id = await makeServer();
    await put(`/servers/${id}/vault`, { key: 'GONE', value: 'x' });
    const token = await tokenOf(id, false);
    await berth.database.query("UPDATE accounts SET status = 'suspended' WHERE id = ?", [owner.id]);
    expect((await token.get('/secrets')).expect(403).body.code).toBe('suspended');
    await berth.database.query("UPDATE accounts SET status = 'active' WHERE id = ?", [owner.id]);
    (await token.get('/secrets')).expect(200);
    (await owner.api.delete(`/servers/${id}`)).expect(204);
    (await token.get('/secrets')).expect(401);
    expect(await berth.database.query('SELECT scope FROM vault_scopes WHERE server_id = ?', [id])).toEqual([]);
  });
});

test('the detail of a service says whether its node has a broker', async () => {
  expect((await owner.api.get(`/servers/${server}`)).body.vault).toEqual({ broker: false });
  await berth.database.query("UPDATE nodes SET agent_version = '2.33.0'");
  expect((await owner.api.get(`/servers/${server}`)).body.vault).toEqual({ broker: true });
  await berth.database.query("UPDATE nodes SET agent_version = '2.32.9'");
  expect((await owner.api.get(`/servers/${server}`)).body.vault).toEqual({ broker: false });
});
