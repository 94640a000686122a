import { startBerth, type Berth } from '../support/app.js';
import { holdInvariants } from './support/invariants.js';
import { sampleBody } from './support/samples.js';
import { named, scoped, type Route } from './support/surface.js';
import { World, type Person } from './support/world.js';

let berth: Berth;
let world: World;
let person: Person;
let stranger: Person;

beforeAll(async () => {
  berth = await startBerth();
  holdInvariants(berth);
  world = new World(berth);
  [person, stranger] = await Promise.all([world.person(), world.person()]);
});
afterAll(() => berth?.close());

const posts = scoped.filter(({ method }) => method === 'POST');
const idempotent = posts.filter((route) => route.idempotent);
let keys = 0;
const fresh = (): string => `key-${++keys}`;
const headers = (key: string): { headers: Record<string, string> } => ({ headers: { 'idempotency-key': key } });

test('every POST takes the key but those that show a clear key and those that end a session', () => {
  expect(posts.filter((route) => !route.idempotent).map(String)).toEqual([
    'public: POST /databases/{id}/export',
    'public: POST /servers/{id}/settings/sftp/rotate-password',
    'public: POST /servers/{id}/vault/token',
    'panel: POST /auth/logout',
    'panel: POST /databases/{id}/export',
    'panel: POST /keys',
    'panel: POST /servers/{id}/settings/sftp/rotate-password',
    'panel: POST /servers/{id}/vault/token',
  ]);
});

describe('a POST that is repeated with its key is done once', () => {
  test.each(named(idempotent))('%s', async (_name, route) => {
    const key = fresh();
    const values = await world.make(route, person);
    const call = (sent: object = {}, ids = values): ReturnType<World['call']> =>
      world.call(route, person, ids, { ...headers(key), ...sent });

    const first = (await call()).expect(200, 201, 202);
    const again = (await call()).expect(first.status);
    expect(again.text).toBe(first.text);
    expect([again.header('idempotency-replayed'), again.header('location')]).toEqual([
      'true',
      first.header('location'),
    ]);
    expect(first.header('idempotency-replayed')).toBeUndefined();

    const spaced = await call({ raw: ` ${JSON.stringify(sampleBody(route) ?? {})}` });
    expect([200, 201, 202, 422]).toContain(spaced.status);
    const other = (await call({ json: { ...sampleBody(route), surplus: 1 } })).expect(422);
    expect(other.body.code).toBe('idempotency_key_reused');
    const elsewhere = (await world.call(route, person, values, { ...headers(key), query: { x: '1' } })).expect(422);
    expect(elsewhere.body.code).toBe('idempotency_key_reused');
    (await world.call(route, stranger, await world.make(route, stranger), headers(key))).expect(first.status);
  });
});

describe('at the same time only one of them is done', () => {
  test.each(named(idempotent))('%s', async (_name, route) => {
    const values = await world.make(route, person);
    const key = fresh();
    const answers = await Promise.all(Array.from({ length: 6 }, () => world.call(route, person, values, headers(key))));
    const done = answers.filter(({ status }) => status < 300);
    expect(done.length).toBeGreaterThanOrEqual(1);
    expect(new Set(done.map(({ text }) => text)).size).toBe(1);
    expect(done.filter((answer) => answer.header('idempotency-replayed') === undefined)).toHaveLength(1);
    for (const { status, body } of answers)
      if (status >= 300) expect([status, body.code]).toEqual([409, 'idempotency_in_progress']);
  });
});

describe('what was refused may be tried again with the same key', () => {
  test.each(named(idempotent.filter(({ body }) => body?.required)))('%s', async (_name, route) => {
    const values = await world.make(route, person);
    const key = fresh();
    (await world.call(route, person, values, { ...headers(key), json: {} })).expect(400);
    (await world.call(route, person, values, headers(key))).expect(200, 201, 202);
  });
});

describe('a key that is no key is refused', () => {
  test.each(named(idempotent))('%s', async (_name, route) => {
    const values = await world.make(route, person);
    for (const key of ['', ' ', 'a b', 'x'.repeat(256), 'caf\u00e9', 'a\tb']) {
      const answer = await world.call(route, person, values, headers(key));
      expect([key, answer.status, answer.body.code]).toEqual([key, 400, 'invalid_idempotency_key']);
    }
    (await world.call(route, person, values, headers(fresh().padEnd(255, 'x')))).expect(200, 201, 202);
  });
});

test('a clear key is kept nowhere: its route does not look at the header', async () => {
  const route = posts.find(({ id }) => id === 'keys_create') as Route;
  const [one, two] = [
    await world.call(route, person, [], headers('same')),
    await world.call(route, person, [], headers('same')),
  ];
  expect(one.expect(201).body.key).not.toBe(two.expect(201).body.key);
  expect(await berth.database.query('SELECT * FROM idempotency_keys WHERE idem_key = ?', ['same'])).toEqual([]);
  const tables = await berth.database.query<{ name: string }[]>(
    'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()',
  );
  for (const { name } of tables) {
    const rows = JSON.stringify(await berth.database.query(`SELECT * FROM \`${name}\``));
    expect([name, rows.includes(one.body.key)]).toEqual([name, false]);
  }
});
