import { fc } from '../support/fast-check.js';
import type { Answer } from '../support/api.js';
import { startBerth, type Berth } from '../support/app.js';
import { holdInvariants } from './support/invariants.js';
import { sampleBody } from './support/samples.js';
import { fill, named, scoped, surfaces, type Route, foundStatus } from './support/surface.js';
import { World, type Person } from './support/world.js';

const BODIES = 25;
const ADDRESSES = 15;

let berth: Berth;
let world: World;
let person: Person;

beforeAll(async () => {
  berth = await startBerth({ roles: ['api'] });
  holdInvariants(berth);
  world = new World(berth);
  person = await world.person();
  const server = { name: 'to be looked at', runtime: 'nodejs', ram: 128, disk: 512, cpu: 25, withDatabase: true };
  const { id, lastOperation } = (await person.api.post('/servers', server)).expect(201).body;
  const { id: key } = (await person.panel.post('/keys', { name: 'to be looked at' })).expect(201).body;
  known = { '/servers/': id, '/operations/': lastOperation.id, '/keys/': key };
});
afterAll(() => berth?.close());

/** Records that are there, by the start of the paths that name them. */
let known: Record<string, string>;

const TEXT = [
  '',
  ' ',
  'a\u0000b',
  '\u0001\u001b[31m\u007f',
  'line\nbreak\r\n',
  '\u202eright to left',
  '😀'.repeat(30),
  'x'.repeat(5000),
  "' OR 1=1 --",
  '"; DROP TABLE x; --',
  '${7*7}{{7*7}}<script>',
  '../../../../x',
  '%00%0a%2e%2e',
  'null',
  'NaN',
  '1e999',
  '\ud800',
  'İıſ',
  'é\u0301',
];
const NUMBERS = [0, -0, -1, 1.5, 1e308, -1e308, 5e-324, 2 ** 31, 2 ** 53, 2 ** 53 + 2, -(2 ** 63), 1e21];

const oddText = fc.oneof(
  fc.constantFrom(...TEXT),
  fc.string({ maxLength: 60 }),
  fc.fullUnicodeString({ maxLength: 30 }),
);
const oddValue = fc.oneof(
  oddText,
  fc.constantFrom<unknown>(...NUMBERS, null, true, false, [], {}),
  fc.array(oddText, { maxLength: 4 }),
  fc.jsonValue({ maxDepth: 4 }),
);
const oddName = fc.oneof(
  fc.constantFrom(
    '__proto__',
    'constructor',
    'toString',
    'length',
    'then',
    '$where',
    'a.b',
    'a[b]',
    '',
    '0',
    'toJSON',
    '__v',
  ),
  oddText,
);

/** Bodies near to what a route takes, and far from it; now and then one that is right. */
function bodiesOf(route: Route): fc.Arbitrary<string> {
  const fields = Object.keys(route.body?.properties ?? {});
  const near = fc
    .tuple(
      fc.dictionary(fc.oneof(fc.constantFrom(...fields, 'surplus'), oddName), oddValue, { maxKeys: 4 }),
      fc.boolean(),
    )
    .map(([changes, keep]) => JSON.stringify({ ...(keep ? sampleBody(route) : {}), ...changes }));
  const torn = fc
    .tuple(near, fc.nat(200), fc.fullUnicodeString({ maxLength: 3 }))
    .map(([text, at, put]) => text.slice(0, at) + put + text.slice(at + 1));
  const deep = fc
    .tuple(fc.nat(200), fc.constantFrom(...fields, 'a'))
    .map(([depth, name]) => `{"${name}":`.repeat(depth) + '1' + '}'.repeat(depth));
  const raw = fc.constantFrom(
    '{"__proto__":{"x":1}}',
    '{"name":1e400}',
    '{"ram":-0}',
    '{"ram":99999999999999999999999}',
    '\ufeff{}',
    '[[[[',
    '"',
    '{"a":"\\ud800"}',
    '{"\\u0000":1}',
  );
  return fc.oneof({ arbitrary: near, weight: 6 }, torn, deep, raw);
}

/** Names for a record as they stand in an address: encoded as they ought to be, or not at all. */
const oddSegment = fc.oneof(
  oddText.map((text) => (text.isWellFormed() ? encodeURIComponent(text) || '%20' : '%ED%A0%80')),
  fc.constantFrom(
    '%',
    '%zz',
    '%00',
    '%c0%af',
    '%ff',
    '..',
    '.',
    '%2e%2e%2f',
    '*',
    ':id',
    '{id}',
    '~',
    'undefined',
    '[object%20Object]',
    'a;b=c',
    "'",
    '!$&()+,;=@',
  ),
);

/** Query strings: the route's own parameters, names like them, and what it does not know. */
function queriesOf(route: Route): fc.Arbitrary<string> {
  const wellFormed = oddText.filter((text) => text.isWellFormed());
  const own = route.query.flatMap((name) => [name, name, name, `${name}[]`, `${name}[x]`, name.toUpperCase()]);
  const names = fc.oneof(fc.constantFrom(...own, '__proto__[x]', 'constructor', 'x', ''), wellFormed);
  const values = fc.oneof(
    wellFormed,
    fc.constantFrom(...NUMBERS.map(String), '0x10', '+5', '5 ', '007', '9'.repeat(400)),
    fc.jsonValue({ maxDepth: 2 }).map((value) => Buffer.from(JSON.stringify(value)).toString('base64url')),
    oddText.map((text) => Buffer.from(JSON.stringify([text])).toString('base64url')),
  );
  return fc.array(fc.tuple(names, values), { maxLength: 3 }).map((pairs) => {
    const unhurried = pairs.some(([name]) => name === 'waitFor') ? [['timeout', '0'], ...pairs] : pairs;
    return unhurried.map(([name, value]) => `${encodeURIComponent(name!)}=${encodeURIComponent(value!)}`).join('&');
  });
}

const REFUSALS = [400, 403, 404, 405, 409, 413, 415, 422];

/** That it is no fault of the platform, and all else that holds for any answer, is seen to by the invariants. */
function expectOrderly(route: Route, answer: Answer): void {
  const fine = [...Object.keys(route.successes).map(Number), ...REFUSALS];
  expect(fine).toContain(answer.status);
}

async function check<T>(property: fc.IAsyncProperty<T>, numRuns: number): Promise<void> {
  await fc.assert(property, { numRuns, endOnFailure: true, interruptAfterTimeLimit: 20_000 });
}

describe('whatever the body is, the answer is orderly', () => {
  test.each(named(scoped.filter(({ body }) => body !== undefined)))('%s', async (_name, route) => {
    const values = realValues(route);
    await check(
      fc.asyncProperty(bodiesOf(route), async (raw) =>
        expectOrderly(route, await world.call(route, person, values, { raw })),
      ),
      BODIES,
    );
  });
});

describe('whatever the address is, the answer is orderly', () => {
  test.each(named(scoped.filter(({ id }) => id !== 'panelSession_logout')))('%s', async (_name, route) => {
    const api = world.client(person, route.surface);
    const segments = fc.tuple(
      ...route.params.map(() => fc.oneof({ arbitrary: oddSegment, weight: 4 }, fc.constant(null))),
    );
    await check(
      fc.asyncProperty(segments, queriesOf(route), async (odd, query) => {
        const path = fill(
          route.path,
          realValues(route).map((value, index) => odd[index] ?? value),
        );
        const wrong = route.method === 'DELETE' && odd.every((segment) => segment === null) ? '/x' : '';
        const answer = await api.send(route.method, `${path}${wrong}?${query}`, { json: sampleBody(route) });
        expectOrderly(route, answer);
      }),
      route.query.length > 0 ? 3 * ADDRESSES : ADDRESSES,
    );
  });

  test('headers too', async () => {
    const odd: Record<string, string>[] = [
      { 'content-length': '0', 'content-type': 'x'.repeat(5000) },
      { accept: 'text/html', 'accept-encoding': '*;q=0', 'accept-language': '*' },
      { range: 'bytes=0-0', 'if-none-match': '"x"', 'if-modified-since': 'never' },
      { 'x-forwarded-for': "'; --, 999.1.1.1", forwarded: 'for=_x', 'x-real-ip': '::' },
      { 'x-http-method-override': 'DELETE', 'x-original-url': '/internal/node/report' },
      { cookie: `sid=s%3A${'x'.repeat(4000)}; sid; =; ;; __proto__=1` },
      { 'x-request-id': 'mine', traceparent: '00-zz-zz-00' },
      { host: 'evil.example', origin: 'null', referer: 'https://evil.example/' },
      { 'idempotency-key': 'x'.repeat(300) },
    ];
    for (const headers of odd) {
      const answer = (await person.api.get('/me', { headers })).expect(200);
      expect(answer.body.id).toBe(person.id);
      expect(answer.header('x-request-id')).not.toBe('mine');
      expect(JSON.stringify(answer.headers)).not.toContain('evil.example');
    }
    (
      await person.panel.get('/me', { headers: { cookie: `${person.panel.headers['cookie']}; ${odd[5]!['cookie']}` } })
    ).expect(200, 401);
  });
});

test('reading changes nothing', async () => {
  const gets = scoped.filter(({ method }) => method === 'GET');
  await settled();
  const before = await contents();
  for (const route of gets) {
    for (const query of ['', 'limit=1', 'limit=0', 'waitFor=NEVER&timeout=0', 'cursor=WyJ4Il0', 'x=1']) {
      await world.call(route, person, realValues(route), { query: Object.fromEntries(new URLSearchParams(query)) });
    }
    await world.call(
      route,
      person,
      world.kindsOf(route).map((kind) => kind.missing()),
    );
    await world.client(person, route.surface).send('HEAD', fill(route.path, realValues(route)));
  }
  expect(await contents()).toEqual(before);
});

/** All rows of all tables but for when a key was used last, which is written when it is used. */
async function contents(): Promise<Record<string, unknown>> {
  const { database } = berth;
  const tables = await database.query<{ name: string }[]>(
    'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()',
  );
  const rows = await Promise.all(tables.map(({ name }) => database.query(`SELECT * FROM \`${name}\``)));
  return Object.fromEntries(
    tables.map(({ name }, index) => [name, rows[index]!.map((row) => ({ ...row, last_used_at: null }))]),
  );
}

/** The queue is left alone here, so nothing else writes. */
async function settled(): Promise<void> {
  expect(Object.keys(surfaces)).toEqual(['public', 'panel']);
  for (const route of scoped.filter(({ method }) => method === 'GET'))
    (await world.call(route, person, realValues(route))).expect(leadsSomewhere(route) ? foundStatus(route) : 404);
}

/** Ids of records that are there as far as this suite has made any, else of none. */
function realValues(route: Route): string[] {
  return world
    .kindsOf(route)
    .map((kind, index) => knownValue(route, index) ?? (kind.word ? 'STARTUP_FILE' : kind.missing()));
}

function knownValue(route: Route, index: number): string | undefined {
  return known[route.path.split(`{${route.params[index]}}`)[0]!];
}

function leadsSomewhere(route: Route): boolean {
  return world.kindsOf(route).every((kind, index) => kind.word || knownValue(route, index) !== undefined);
}
