import { startBerth, type Berth } from '../support/app.js';
import { holdInvariants } from './support/invariants.js';
import { faultsOf } from './support/samples.js';
import { fill, foundStatus, named, scoped, surfaces, type Route } from './support/surface.js';
import { callAs, impersonal, tellingHeaders, World, type Person } from './support/world.js';

let berth: Berth;
let world: World;
let owner: Person;
let stranger: Person;
/** Values for the parameters of each route, of records that the owner has. */
const owned = new Map<string, string[]>();

beforeAll(async () => {
  berth = await startBerth();
  holdInvariants(berth);
  world = new World(berth);
  [owner, stranger] = await Promise.all([world.person(), world.person()]);
  const shared = new Map<object, Promise<string>>();
  for (const route of scoped) {
    const values: string[] = [];
    for (const kind of world.kindsOf(route)) {
      if (!shared.has(kind)) shared.set(kind, kind.make(world, owner, [...values]));
      values.push(await shared.get(kind)!);
    }
    owned.set(String(route), values);
  }
});
afterAll(() => berth?.close());

const of = (route: Route): string[] => owned.get(String(route))!;
const onPublic = scoped.filter(({ surface }) => surface === 'public');
const onPanel = scoped.filter(({ surface }) => surface === 'panel');
const writes = onPublic.filter(({ scope }) => scope === 'write');
const withParams = scoped.filter(({ params }) => params.length > 0);

describe('without a valid key every route of the public surface gives the one 401', () => {
  let headers: Record<string, Record<string, string>>;
  let reference: { text: string; headers: object };

  beforeAll(async () => {
    const { key } = owner;
    headers = {
      'no header': {},
      'an empty header': { authorization: ' ' },
      'the key without a scheme': { authorization: key },
      'another scheme': { authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}` },
      'no key after the scheme': { authorization: 'Bearer ' },
      'a key that is too short': { authorization: `Bearer ${key.slice(0, -1)}` },
      'a key that is too long': { authorization: `Bearer ${key}0` },
      'a key in upper case': { authorization: `Bearer svc_${key.slice(4).toUpperCase()}` },
      'another prefix': { authorization: `Bearer evt_${key.slice(4)}` },
      'an unknown key': { authorization: `Bearer svc_${'0123456789ab'.repeat(4)}` },
      'a key that differs in its last character': {
        authorization: `Bearer ${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`,
      },
      'a revoked key': { authorization: `Bearer ${await berth.makeRevokedKey(owner)}` },
      'two keys': { authorization: `Bearer ${key}, Bearer ${key}` },
      'the key in other headers': { 'x-api-key': key, cookie: `sid=${key}; authorization=${key}` },
      'the session of a browser': {
        cookie: owner.panel.headers['cookie']!,
        'x-panel': '1',
        'sec-fetch-site': 'same-origin',
      },
    };
    const answer = (await berth.anonymous.get('/me')).expect(401);
    reference = { text: impersonal(answer), headers: tellingHeaders(answer) };
  });

  test.each(named(onPublic))('%s', async (_name, route) => {
    for (const [how, sent] of Object.entries(headers)) {
      const answer = await callAs(berth.anonymous, route, of(route), { headers: sent });
      expect([how, answer.status, impersonal(answer)]).toEqual([how, 401, reference.text]);
      expect(tellingHeaders(answer)).toEqual(reference.headers);
    }
    for (const name of ['access_token', 'key', 'api_key', 'token']) {
      (await callAs(berth.anonymous, route, of(route), { query: { [name]: owner.key } })).expect(401);
      if (route.body) (await callAs(berth.anonymous, route, of(route), { json: { [name]: owner.key } })).expect(401);
    }
  });

  test('no spelling of a path gets around it', async () => {
    const me = surfaces.public.prefix;
    for (const path of [`${me}/me/`, `${me}/ME`, me.toUpperCase() + '/me', `/api/V1/servers`, `${me}/me?x=1`]) {
      (await berth.client('').get(path)).expect(401);
    }
  });
});

describe('a read-only key', () => {
  test.each(named(writes))('may not: %s', async (_name, route) => {
    const bodies: unknown[] = [
      undefined,
      {},
      { surplus: 1 },
      ...faultsOf(route)
        .slice(0, 3)
        .map(({ body }) => body),
    ];
    for (const json of bodies) {
      const answer = (await callAs(owner.readOnly, route, of(route), { json })).expect(403);
      expect(answer.body).toMatchObject({ code: 'scope_missing', requiredScope: 'write' });
    }
    for (const raw of ['{', 'x'.repeat(2_000_000)])
      (await callAs(owner.readOnly, route, of(route), { raw })).expect(403);
    (await callAs(owner.readOnly, route, of(route), { raw: 'a=1', headers: { 'content-type': 'text/plain' } })).expect(
      403,
    );
    (
      await callAs(
        owner.readOnly,
        route,
        route.params.map(() => 'nothing'),
      )
    ).expect(403);
  });

  test.each(named(onPublic.filter(({ scope }) => scope === 'read')))('may: %s', async (_name, route) => {
    (await callAs(owner.readOnly, route, of(route))).expect(foundStatus(route));
  });
});

describe('what belongs to others and what does not exist are the same 404', () => {
  test.each(named(withParams))('%s', async (_name, route) => {
    const kinds = world.kindsOf(route);
    const missing = kinds.map((kind) => kind.missing());
    const reference = (await world.call(route, owner, missing)).expect(404);
    const same = async (why: string, values: string[], person = owner): Promise<void> => {
      const answer = await world.call(route, person, values);
      expect([why, values, answer.status]).toEqual([why, values, 404]);
      expect(impersonal(answer)).toBe(impersonal(reference));
      expect(tellingHeaders(answer)).toEqual(tellingHeaders(reference));
    };

    expect(reference.body).toMatchObject({ code: 'not_found' });
    await same('of another account', of(route), stranger);
    for (const [index, { word, choice }] of kinds.entries()) {
      if (choice) continue;
      const but = (value: string): string[] => of(route).with(index, value);
      await same('does not exist', but(kinds[index]!.missing()));
      for (const value of misshapen(of(route)[index]!)) await same('of the wrong shape', but(value));
      if (index > 0 && !word)
        await same('of another parent', [await kinds[0]!.make(world, owner, []), ...of(route).slice(1)]);
    }
  });

  test.each(named(withParams.filter(({ body }) => body?.required)))(
    'but first the body must fit: %s',
    async (_name, route) => {
      for (const { body } of faultsOf(route).slice(0, 2)) {
        (await world.call(route, stranger, of(route), { json: body })).expect(400);
      }
    },
  );

  test('and all of it is still there', async () => {
    for (const route of scoped.filter(({ method, params }) => method === 'GET' && params.length > 0)) {
      (await world.call(route, owner, of(route))).expect(foundStatus(route));
    }
  });

  function misshapen(id: string): string[] {
    const [prefix, rest = ''] = id.split('_', 2) as [string, string?];
    const foreign = prefix === 'srv' ? 'op' : 'srv';
    return [
      id.slice(0, -1),
      `${id}0`,
      `${foreign}_${rest}`,
      `${id}%00`,
      `${id}%0a`,
      `%20${id}`,
      `${id}'--`,
      '0',
      'null',
      '-1',
      '%2e%2e',
      '*',
    ];
  }
});

describe('without a session everything under the panel is 401', () => {
  test.each(named(onPanel))('%s', async (_name, route) => {
    const visitor = berth.client('/panel/api', { 'x-panel': '1', 'sec-fetch-site': 'same-origin' });
    const reference = (await visitor.get('/me')).expect(401);
    const headers: Record<string, string>[] = [
      {},
      { cookie: 'sid=' },
      { cookie: 'sid=s%3Anobody.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' },
      { cookie: owner.panel.headers['cookie']!.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')) },
      { authorization: `Bearer ${owner.key}` },
      { authorization: owner.panel.headers['cookie']! },
    ];
    for (const sent of headers) {
      const answer = (await callAs(visitor, route, of(route), { headers: sent })).expect(401);
      expect(impersonal(answer)).toBe(impersonal(reference));
    }
  });

  test('what does not exist included, by any spelling', async () => {
    for (const path of [
      '/panel/api',
      '/panel/api/',
      '/panel/api/nowhere',
      '/panel/api/keys/x/y',
      '/PANEL/API/me',
      '/panel/Api/servers',
      '/panel/api/openapi.json',
      '/panel/api/auth/login/x',
      '/panel/api/auth/LOGIN/../../me',
    ]) {
      expect([path, (await berth.client('').get(path)).status]).toEqual([path, 401]);
    }
  });

  test('with one, what does not exist is 404', async () => {
    for (const path of ['', '/', '/nowhere', '/keys/x/y', '/../panel/api/nowhere']) {
      expect([path, (await owner.panel.get(path)).status]).toEqual([path, 404]);
    }
  });
});

describe('a request that another site could have sent is refused before all else', () => {
  const refused: [string, Record<string, string>][] = [
    ['without X-Panel', { 'x-panel': '' }],
    ['with another X-Panel', { 'x-panel': '0' }],
    ['from another site', { 'sec-fetch-site': 'cross-site' }],
    ['from a sibling', { 'sec-fetch-site': 'same-site' }],
    ['typed into the address bar', { 'sec-fetch-site': 'none' }],
    ['from a browser that tells nothing', { 'sec-fetch-site': '' }],
    ['from another origin', { 'sec-fetch-site': '', origin: 'https://evil.example' }],
    ['from no origin', { 'sec-fetch-site': '', origin: 'null' }],
    ['from an origin that begins alike', { 'sec-fetch-site': '', origin: `@.evil.example` }],
    ['with a good origin, but from another site', { 'sec-fetch-site': 'cross-site', origin: '@' }],
  ];
  const stateChanging = onPanel.filter(({ method }) => method !== 'GET');

  test.each(named(stateChanging))('%s', async (_name, route) => {
    for (const [how, headers] of refused) {
      const sent = {
        ...headers,
        ...(headers['origin'] ? { origin: headers['origin'].replace('@', berth.baseUrl) } : {}),
      };
      for (const [who, client] of [
        ['owner', owner.panel],
        ['nobody', owner.panel.with({ cookie: '' })],
      ] as const) {
        const answer = await callAs(client.with(sent), route, of(route), { json: { surplus: 1 } });
        expect([how, who, answer.status, answer.body.code]).toEqual([how, who, 403, 'csrf_refused']);
      }
    }
  });

  test('on paths that do not exist, and however they are spelled', async () => {
    const forged = owner.panel.with({ 'sec-fetch-site': 'cross-site' });
    for (const path of ['/nowhere', '', '/keys/']) (await forged.post(path)).expect(403);
    for (const path of ['/PANEL/api/keys', '/panel/API/keys'])
      (await berth.client('', forged.headers).post(path)).expect(403);
  });

  test('the panel itself may, by either sign of its origin', async () => {
    const byOrigin = owner.panel.with({ 'sec-fetch-site': '', origin: berth.baseUrl });
    (await byOrigin.post('/keys', { name: 'by origin' })).expect(201);
    (await owner.panel.post('/keys', { name: 'by fetch metadata' })).expect(201);
  });

  test('reading needs no such sign', async () => {
    const linked = owner.panel.with({ 'x-panel': '', 'sec-fetch-site': 'cross-site' });
    for (const route of onPanel.filter(({ method }) => method === 'GET')) {
      (await linked.get(fill(route.path, of(route)))).expect(foundStatus(route));
    }
  });
});

test('a key works beside a cookie, and its scopes decide', async () => {
  const cookie = stranger.panel.headers['cookie']!;
  expect((await owner.api.get('/me', { headers: { cookie } })).expect(200).body.id).toBe(owner.id);
  (await owner.readOnly.post('/servers', {}, { headers: { cookie } })).expect(403);
});
