import { AccountsService } from '../../../src/modules/accounts/accounts.service.js';
import { ApiKeysService } from '../../../src/modules/accounts/api-keys.service.js';
import { QuotaLock } from '../../../src/modules/accounts/quota-lock.service.js';
import { EventRecorder, SYSTEM } from '../../../src/platform/events/event-recorder.js';
import { Browser } from '../../support/browser.js';
import { TestDatabase } from '../../support/database.js';
import { until } from '../../support/until.js';
import { type AccountApp, ENTITIES, startAccountApp } from './account-app.js';
import { panelRequest, signedInAs, signIn } from './sign-in.js';

interface KeyEntry {
  id: string;
  key?: string;
  prefix: string;
  lastUsedAt: string | null;
  revokedAt: string | null;
}

let db: TestDatabase;
let app: AccountApp;
let browser: Browser;

beforeAll(async () => {
  db = await TestDatabase.create(ENTITIES);
  app = await startAccountApp(db.url);
  browser = (await signIn(app.url, 'peggy')).browser;
});

afterAll(async () => {
  await app.close();
  await db.drop();
});

const panel = (path: string) => `${app.url}/panel/api/${path}`;
const read = async <T>(response: Response) => (await response.json()) as T;

/** Routes of the panel as requests that name nothing that exists. */
function panelRoutes(): { method: string; path: string }[] {
  return app.routes
    .map((route) => route.split(' ') as [string, string])
    .filter(([, path]) => path.startsWith('/panel/api/'))
    .map(([method, path]) => ({ method, path: path.replace(/:\w+/g, 'key_01j9z6m3k4v5w6x7y8z9a0b1c2') }));
}

test('without a session there is nothing but the login, unknown routes included', async () => {
  const stranger = new Browser();
  const known = panelRoutes().filter(({ path }) => !/auth\/(login|callback)$/.test(path));
  expect(known.length).toBeGreaterThanOrEqual(6);
  const unknown = [
    '',
    '/',
    '/nope',
    '/auth',
    '/auth/nope',
    '/auth/login/x',
    '/auth/LOGIN',
    '/keys/',
    '/%6beys',
    '/../api/keys',
    '//keys',
  ];
  const bodies = new Set<string>();
  for (const { method, path } of [...known, ...unknown.map((rest) => ({ method: 'GET', path: `/panel/api${rest}` }))]) {
    const response = await panelRequest(stranger, app.url + path, method);
    expect([method, path, response.status]).toEqual([method, path, 401]);
    const { requestId: _id, instance: _instance, ...rest } = await read<Record<string, unknown>>(response);
    bodies.add(JSON.stringify(rest));
  }
  expect(bodies.size).toBe(1);
  for (const path of ['/PANEL/API/keys', '/panel/Api/auth/session'])
    expect((await stranger.send(app.url + path)).status).toBe(401);
  expect((await browser.send(panel('nope'))).status).toBe(404);
});

describe('requests that another site could have made', () => {
  const own = () => app.url;
  const sites = [undefined, 'same-origin', 'same-site', 'cross-site', 'none', 'SAME-ORIGIN', ''];
  const origins = [undefined, 'own', 'null', 'http://evil.example', 'suffix', 'https'];
  const headers = [undefined, '1', '0', 'true', ''];

  function originOf(kind: string | undefined): string | undefined {
    if (kind === 'own') return own();
    if (kind === 'suffix') return `${own()}.evil.example`;
    return kind === 'https' ? own().replace('http:', 'https:') : kind;
  }

  test('are refused on every unsafe route, before anything else is looked at', async () => {
    const unsafe = panelRoutes().filter(({ method }) => !['GET', 'HEAD'].includes(method));
    expect(unsafe.map(({ method }) => method)).toEqual(expect.arrayContaining(['POST', 'DELETE']));
    const routes = [
      ...unsafe,
      { method: 'PUT', path: '/panel/api/nope' },
      { method: 'PATCH', path: '/panel/api/keys' },
    ];
    // A browser without a session, so that an allowed request is told by its 401 and changes nothing.
    const stranger = new Browser();
    for (const { method, path } of routes) {
      for (const site of sites) {
        for (const origin of origins) {
          for (const panelHeader of headers) {
            const sent = {
              ...(site === undefined ? {} : { 'sec-fetch-site': site }),
              ...(origin === undefined ? {} : { origin: originOf(origin)! }),
              ...(panelHeader === undefined ? {} : { 'x-panel': panelHeader }),
            };
            const allowed = panelHeader === '1' && (site === undefined ? origin === 'own' : site === 'same-origin');
            const response = await stranger.send(app.url + path, { method, headers: sent, body: '{broken' });
            const body = await read<{ code: string }>(response);
            expect({ method, path, sent, status: response.status, code: body.code }).toEqual({
              method,
              path,
              sent,
              ...(allowed ? { status: 401, code: 'unauthenticated' } : { status: 403, code: 'csrf_refused' }),
            });
          }
        }
      }
    }
  });

  test('change nothing with a session either', async () => {
    const response = await browser.send(panel('auth/logout'), {
      method: 'POST',
      headers: { 'sec-fetch-site': 'cross-site', 'x-panel': '1' },
    });
    expect(response.status).toBe(403);
    expect(await signedInAs(browser, app.url)).toMatchObject({ username: 'peggy' });
  });
});

test('keys count on the public surface only, sessions on the panel only', async () => {
  const accounts = new AccountsService(db.database);
  const keys = new ApiKeysService(db.database, new EventRecorder(db.database), new QuotaLock());
  const { key } = await keys.create((await accounts.find('peggy')).id, { scopes: ['read', 'write'] }, SYSTEM);
  const headers = { authorization: `Bearer ${key}` };
  expect((await new Browser().send(panel('keys'), { headers })).status).toBe(401);
  expect((await new Browser().send(`${app.url}/api/v1/me`, { headers })).status).toBe(200);
  expect((await browser.send(`${app.url}/api/v1/me`)).status).toBe(401);
  const sid = decodeURIComponent(browser.cookie(app.url, 'sid')!);
  expect((await fetch(`${app.url}/api/v1/me`, { headers: { authorization: `Bearer ${sid}` } })).status).toBe(401);
  const answer = await fetch(`${app.url}/api/v1/me`, { headers });
  expect(answer.headers.getSetCookie()).toEqual([]);
});

test('a key never makes a key: the public surface has no such route', () => {
  expect(app.routes.filter((route) => route.includes('/api/v1/keys'))).toEqual([]);
});

describe('API keys in the panel', () => {
  const create = (body: object) => panelRequest(browser, panel('keys'), 'POST', body);
  const list = async () => read<KeyEntry[]>(await browser.send(panel('keys')));

  test('a key is shown once, works, is seen to be used, and is refused once revoked', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const made = await create({
      name: 'ci',
      scopes: ['write', 'read'],
      expiresAt,
      allowedAddresses: ['127.0.0.1', '::1/128'],
    });
    expect(made.status).toBe(201);
    const entry = await read<Required<KeyEntry>>(made);
    expect(entry).toEqual({
      id: expect.stringMatching(/^key_/) as string,
      key: expect.stringMatching(/^svc_[0-9a-f]{48}$/) as string,
      name: 'ci',
      prefix: entry.key.slice(0, 12),
      scopes: ['read', 'write'],
      lastUsedAt: null,
      expiresAt,
      revokedAt: null,
      createdAt: expect.any(String) as string,
    });
    const headers = { authorization: `Bearer ${entry.key}` };
    expect((await fetch(`${app.url}/api/v1/me`, { headers })).status).toBe(200);
    const used = await until('the use is written', async () =>
      (await list()).find(({ id, lastUsedAt }) => id === entry.id && lastUsedAt),
    );
    expect(used).not.toHaveProperty('key');
    expect(Object.keys(used).sort()).toEqual(
      Object.keys(entry)
        .filter((name) => name !== 'key')
        .sort(),
    );
    expect((await panelRequest(browser, panel(`keys/${entry.id}`), 'DELETE')).status).toBe(204);
    expect((await fetch(`${app.url}/api/v1/me`, { headers })).status).toBe(401);
    expect((await panelRequest(browser, panel(`keys/${entry.id}`), 'DELETE')).status).toBe(204);
    expect((await list()).find(({ id }) => id === entry.id)?.revokedAt).not.toBeNull();
  });

  test('without any wish a key may read', async () => {
    const entry = await read<{ scopes: string[]; name: null }>(await create({}));
    expect(entry).toMatchObject({ scopes: ['read'], name: null, expiresAt: null });
  });

  test('an Idempotency-Key does not keep the clear key anywhere', async () => {
    const send = () =>
      browser.send(panel('keys'), {
        method: 'POST',
        headers: {
          'x-panel': '1',
          'sec-fetch-site': 'same-origin',
          'content-type': 'application/json',
          'idempotency-key': 'again',
        },
        body: '{}',
      });
    const [first, second] = [await read<KeyEntry>(await send()), await read<KeyEntry>(await send())];
    expect(first.id).not.toBe(second.id);
    expect(await db.query('SELECT * FROM idempotency_keys')).toEqual([]);
  });

  test.each([
    [{ name: '' }, 'name'],
    [{ name: 'x'.repeat(65) }, 'name'],
    [{ name: 'a\nb' }, 'name'],
    [{ name: 7 }, 'name'],
    [{ scopes: [] }, 'scopes'],
    [{ scopes: ['admin'] }, 'scopes'],
    [{ scopes: ['read', 'read'] }, 'scopes'],
    [{ scopes: 'read' }, 'scopes'],
    [{ expiresAt: '2001-01-01T00:00:00Z' }, 'expiresAt'],
    [{ expiresAt: 'tomorrow' }, 'expiresAt'],
    [{ expiresAt: '2031-13-01T00:00:00Z' }, 'expiresAt'],
    [{ expiresAt: 1 }, 'expiresAt'],
    [{ allowedAddresses: ['10.0.0.0/33'] }, 'allowedAddresses'],
    [{ allowedAddresses: ['example.test'] }, 'allowedAddresses'],
    [{ allowedAddresses: [] }, 'allowedAddresses'],
    [{ allowedAddresses: Array.from({ length: 21 }, (_, i) => `10.0.0.${i}`) }, 'allowedAddresses'],
    [{ accountId: 'usr_01j9z6m3k4v5w6x7y8z9a0b1c2' }, 'accountId'],
  ])('%j is refused', async (body, field) => {
    const response = await create(body);
    expect(response.status).toBe(400);
    expect((await read<{ errors: { field: string }[] }>(response)).errors.map((error) => error.field)).toEqual([field]);
  });

  test('keys of others do not exist', async () => {
    const stranger = (await signIn(app.url, 'trent')).browser;
    const { id } = await read<KeyEntry>(await create({}));
    const foreign = await panelRequest(stranger, panel(`keys/${id}`), 'DELETE');
    const missing = await panelRequest(stranger, panel('keys/key_01j9z6m3k4v5w6x7y8z9a0b1c2'), 'DELETE');
    const shapeless = await panelRequest(stranger, panel('keys/1'), 'DELETE');
    const bodies = await Promise.all(
      [foreign, missing, shapeless].map((response) => read<Record<string, unknown>>(response)),
    );
    expect(bodies.map(({ requestId: _id, instance: _instance, ...rest }) => rest)).toEqual(
      Array(3).fill(expect.objectContaining({ status: 404 })),
    );
    expect(await read<KeyEntry[]>(await stranger.send(panel('keys')))).toEqual([]);
    expect((await list()).find((entry) => entry.id === id)?.revokedAt).toBeNull();
  });

  test('the list comes in pages, newest first', async () => {
    for (let i = 0; i < 3; i++) await create({ name: `page-${i}` });
    const all = await list();
    const walked: KeyEntry[] = [];
    let next: string | undefined = `${panel('keys')}?limit=2`;
    while (next !== undefined) {
      const response: Response = await browser.send(next);
      walked.push(...(await read<KeyEntry[]>(response)));
      const link: string | undefined = /<([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
      next = link === undefined ? undefined : new URL(link, app.url).href;
    }
    expect(walked).toEqual(all);
    expect(all.map(({ id }) => id)).toEqual(
      all
        .map(({ id }) => id)
        .sort()
        .reverse(),
    );
  });
});

test('the front page runs no foreign script and asks for its own', async () => {
  const page = await fetch(`${app.url}/panel`);
  expect(page.status).toBe(200);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'");
  const html = await page.text();
  expect(html).not.toMatch(/<script(?![^>]* src="\/panel\/)|\son\w+=|style=/);
  const script = await fetch(`${app.url}/panel/panel.js`);
  expect(script.headers.get('content-type')).toContain('text/javascript');
});
