import { performance } from 'node:perf_hooks';
import { newId } from '../../src/platform/ids/id.js';
import type { Api } from '../support/api.js';
import { startBerth, type Berth } from '../support/app.js';
import { archiveForm } from './support/archive.js';
import { holdInvariants } from './support/invariants.js';
import { sampleOfRoute } from './support/samples.js';
import { fill, foundStatus, named, scoped, surfaces, type Route } from './support/surface.js';
import { World, type Person } from './support/world.js';

let berth: Berth;
let world: World;
let person: Person;

beforeAll(async () => {
  berth = await startBerth();
  holdInvariants(berth);
  world = new World(berth);
  person = await world.person();
});
afterAll(() => berth?.close());

const reads = surfaces.public.routes.filter((route) => route.method === 'GET' && foundStatus(route) === 200);
const writes = scoped.filter(({ scope, id }) => scope === 'write' && id !== 'panelSession_logout');
const waitable = scoped.filter(({ query }) => query.includes('waitFor'));
/** Objects are listed by their keys, in a way of their own. */
const paged = scoped.filter(({ query, id }) => query.includes('cursor') && id !== 'storage_listObjects');

/** What moves by itself from one moment to the next. */
const MOVING = /"(uptime_ms|cpu_percent|memory_bytes|rx_bytes|tx_bytes)":[\d.]+|"(token|expiresAt)":"[^"]+"/g;

describe('what is read is the same on both surfaces, and as documented', () => {
  test.each(named(reads))('%s', async (_name, route) => {
    const values = await world.make(route, person);
    const [byKey, bySession] = [
      (await person.api.get(fill(route.path, values))).expect(200),
      (await person.panel.get(fill(route.path, values))).expect(200),
    ];
    expect(bySession.text.replace(MOVING, '')).toBe(byKey.text.replace(MOVING, ''));
    expect(bySession.header('content-type')).toBe(byKey.header('content-type'));
    const head = (await person.api.send('HEAD', fill(route.path, values))).expect(200);
    expect([head.text, head.header('content-type')]).toEqual(['', byKey.header('content-type')]);
  });
});

describe('a change answers as documented', () => {
  test.each(named(writes))('%s', async (_name, route) => {
    const answer = await world.call(route, person, await world.make(route, person));
    answer.expect(...Object.keys(route.successes).map(Number));
    if (answer.status === 201 && answer.header('location')) {
      const { pathname } = new URL(answer.header('location')!, berth.baseUrl);
      expect(
        (await berth.client('', { ...person.api.headers, ...person.panel.headers }).get(pathname)).expect(200).body.id,
      ).toBe(answer.body.id);
    }
    if (answer.status === 202) {
      const seen = await Promise.all(
        [person.api, person.panel].map((api) => api.waitFor(`/operations/${answer.body.operationId}`, 'DONE')),
      );
      expect(seen[1]!.body).toEqual(seen[0]!.body);
    }
    if (answer.status === 204) expect([answer.text, answer.header('content-type')]).toEqual(['', undefined]);
  });

  test('what is made on one surface is seen and changed on the other', async () => {
    const wanted = { name: 'both', runtime: 'PYTHON', ram: 256, disk: 512, cpu: 50 };
    for (const [maker, other] of [
      [person.api, person.panel],
      [person.panel, person.api],
    ] as [Api, Api][]) {
      const { id } = (await maker.post('/servers', wanted)).expect(201).body;
      await other.waitFor(`/servers/${id}`, 'RUNNING');
      (await other.post(`/servers/${id}/power`, { signal: 'stop' })).expect(202);
      await maker.waitFor(`/servers/${id}`, 'STOPPED');
      (await maker.patch(`/servers/${id}/variables/STARTUP_FILE`, { value: 'bot.py' })).expect(200);
      expect(JSON.stringify((await other.get(`/servers/${id}/startup`)).expect(200).body)).toContain('bot.py');
      const events = (await other.get(`/servers/${id}/activity`)).expect(200).body as {
        event: string;
        actor: { type: string };
      }[];
      expect(new Set(events.map(({ actor }) => actor.type))).toEqual(
        expect.objectContaining(new Set(['key', 'session'])),
      );
      (await other.delete(`/servers/${id}`)).expect(204);
      (await maker.get(`/servers/${id}`)).expect(404);
    }
  });
});

describe('lists', () => {
  const ROW = { name: 'row', runtime: 'java', ram: 128, disk: 512, cpu: 25 };
  /** Adds one row to the list that a route shows. */
  const ADD: Record<string, (walker: Person, ids: string[]) => Promise<unknown>> = {
    servers_list: async ({ api }) => (await api.post('/servers', ROW)).expect(201),
    servers_activity: async ({ api }, [id]) =>
      (await api.patch(`/servers/${id}/variables/STARTUP_FILE`, { value: 'x.js' })).expect(200),
    keys_list: (walker) => berth.makeKey(walker, ['read']),
    schedules_list: async ({ api }, [id]) => (await api.post(`/servers/${id}/schedules`)).expect(201),
    databases_list: async ({ api }) => (await api.post('/servers', { ...ROW, withDatabase: true })).expect(201),
    backups_list: async ({ api }, [id]) => {
      const { uuid } = (await api.post(`/servers/${id}/backups`)).expect(201).body as { uuid: string };
      await api.waitFor(`/servers/${id}/backups/${uuid}`, 'READY');
    },
    exec_list: async ({ api }, [id]) => {
      const { jobId } = (await api.post(`/servers/${id}/exec`, { command: 'true' })).expect(202).body as {
        jobId: string;
      };
      await api.waitFor(`/servers/${id}/exec/${jobId}`, 'DONE');
    },
    storage_listBuckets: async ({ api }) =>
      (await api.post('/storage/buckets', { name: `row-${newId('bkt').slice(-20)}` })).expect(201),
    nocode_list: async ({ api }) => (await api.post('/nocode/projects', { name: 'row', data: '[]' })).expect(201),
    seo_list: async ({ api }) => (await api.post('/seo/scan', sampleOfRoute('seo_scan'))).expect(201),
    pages_list: async ({ api }) =>
      (await api.post('/pages', { name: 'row', domain: `${newId('pag').slice(4)}.localhost` })).expect(201),
    pages_history: async ({ api }, [id]) => (await api.send('POST', `/pages/${id}/deploy`, archiveForm())).expect(201),
    // Rows that only time makes.
    schedules_runs: (_walker, [, sid]) =>
      berth.database.query(
        "INSERT INTO schedule_runs (id, schedule_id, status, reason, created_at) VALUES (?, ?, 'SKIPPED', 'offline', NOW(3))",
        [newId('run'), sid],
      ),
    settings_listCrashes: (_walker, [id]) =>
      berth.database.query(
        'INSERT INTO server_crashes (id, server_id, exit_code, out_of_memory, at) VALUES (?, ?, 1, 0, NOW(3))',
        [newId('act'), id],
      ),
    notifications_list: ({ id }) =>
      berth.database.query(
        `INSERT INTO notifications (id, account_id, resource_id, kind, text, status, attempts, due_at, created_at)
         VALUES (?, ?, ?, 'test', 'row', 'NOT_SENT', 0, NOW(3), NOW(3))`,
        [newId('ntf'), id, id],
      ),
  };
  /** By what rows are told apart and put in order: ids are, and a uuid is with the time before it. */
  const idsOf = (rows: { id?: string; deployId?: string; uuid?: string; createdAt?: string }[]): string[] =>
    rows.map(({ id, deployId, uuid, createdAt }) => id ?? deployId ?? `${createdAt} ${uuid}`);
  const pathOf = (route: Route, values: string[], query: string): string => `${fill(route.path, values)}?${query}`;

  test.each(named(paged))('limit has bounds: %s', async (_name, route) => {
    const values = await world.make(route, person);
    const api = world.client(person, route.surface);
    for (const limit of ['1', '1000']) (await api.get(pathOf(route, values, `limit=${limit}`))).expect(200);
    for (const limit of ['0', '1001', '-1', '1.5', 'all', '', '1e2', '0x10', '99999999999999999999', '%20', 'null']) {
      const { errors } = (await api.get(pathOf(route, values, `limit=${limit}`))).expect(400).body;
      expect([limit, errors]).toEqual([limit, [expect.objectContaining({ field: 'limit', pointer: '/limit' })]]);
    }
    for (const cursor of ['', 'x', '%00', 'bnVsbA', 'W10', 'WzFd', 'W251bGxd', 'WyJhIiwiYiJd', 'x'.repeat(513)]) {
      const { errors } = (await api.get(pathOf(route, values, `cursor=${cursor}`))).expect(400).body;
      expect([cursor, errors]).toEqual([cursor, [expect.objectContaining({ field: 'cursor' })]]);
    }
    for (const position of [
      '',
      'é',
      '😀',
      '\u0000',
      "' OR 1=1 --",
      'zzz',
      'x'.repeat(300),
      '\n',
      '\\',
      '%',
      '9'.repeat(30),
    ]) {
      const cursor = Buffer.from(JSON.stringify([position])).toString('base64url');
      const answer = await api.get(pathOf(route, values, `cursor=${cursor}`));
      expect([position, [200, 400].includes(answer.status)]).toEqual([position, true]);
    }
  });

  test.each(named(paged))(
    'going from page to page shows each row once, newest first, while rows are added: %s',
    async (_name, route) => {
      const add = ADD[route.id];
      if (!add) throw new Error(`Say in ADD how a row comes into the list of ${route.id}.`);
      const walker = await world.person();
      const values = await world.make(route, walker);
      const api = berth.client('', world.client(walker, route.surface).headers);
      const { prefix } = surfaces[route.surface];
      for (let made = 0; made < 5; made++) await add(walker, values);
      const before = idsOf((await api.get(prefix + fill(route.path, values))).expect(200).body);
      expect(before.length).toBeGreaterThanOrEqual(5);

      const seen: string[] = [];
      let next: string | undefined = `${prefix}${pathOf(route, values, 'limit=2&kept=a%20b%26c&limit2=%C3%A9')}`;
      for (let pages = 0; next !== undefined; pages++) {
        const answer = (await api.get(next)).expect(200);
        expect(answer.body.length).toBeLessThanOrEqual(2);
        seen.push(...idsOf(answer.body));
        next = /^<([^>]+)>; rel="next"$/.exec(answer.header('link') ?? '')?.[1];
        expect(answer.header('link') === undefined).toBe(next === undefined);
        if (next === undefined) break;
        const { pathname, searchParams } = new URL(next, berth.baseUrl);
        expect(pathname).toBe(prefix + fill(route.path, values));
        expect([searchParams.get('limit'), searchParams.get('kept'), searchParams.get('limit2')]).toEqual([
          '2',
          'a b&c',
          'é',
        ]);
        if (pages < 3) await add(walker, values);
        if (pages > 200) throw new Error('The pages do not end.');
      }
      expect(seen).toEqual(before);
      expect([...before].sort().reverse()).toEqual(before);
    },
  );
});

describe('waiting', () => {
  test.each(named(waitable))('%s', async (_name, route) => {
    const api = world.client(person, route.surface);
    const path = fill(route.path, await world.make(route, person));
    const bad: [string, string][] = [
      ...[
        '',
        'running',
        'RUNNING,',
        ',',
        'A%20B',
        'X'.repeat(33),
        'RUNNING;STOPPED',
        '%00',
        "'",
        Array(11).fill('A').join(','),
      ].map((waitFor): [string, string] => ['waitFor', `waitFor=${waitFor}&timeout=0`]),
      ...['61', '-1', '1.5', '', 'x', '1e1', '0x1', '999999999999999999999', '%201', '060'].map(
        (timeout): [string, string] => ['timeout', `timeout=${timeout}`],
      ),
      ['waitFor', 'waitFor=A&waitFor=B&timeout=0'],
    ];
    for (const [field, query] of bad) {
      const answer = await api.get(`${path}?${query}`);
      expect([query, answer.status]).toEqual([query, 400]);
      expect(answer.body.errors).toEqual([expect.objectContaining({ field, pointer: `/${field}` })]);
    }
    const { status } = (await api.get(path)).expect(200).body;
    expect((await timed(() => api.get(`${path}?waitFor=NEVER,${status}`))).seconds).toBeLessThan(1);
    expect((await timed(() => api.get(`${path}?waitFor=NEVER&timeout=0`))).seconds).toBeLessThan(1);
    const { seconds, result } = await timed(() => api.get(`${path}?waitFor=NEVER&timeout=1`));
    expect(seconds).toBeGreaterThanOrEqual(0.95);
    expect(seconds).toBeLessThan(4);
    expect(result.expect(200).body.status).toBe(status);
  });

  test('ends when the state is there, long before time is up', async () => {
    const id = await world.makeServer(person);
    const waiting = timed(() => person.api.get(`/servers/${id}?waitFor=STOPPED,CRASHED&timeout=60`));
    (await person.panel.post(`/servers/${id}/power`, { signal: 'stop' })).expect(202);
    const { seconds, result } = await waiting;
    expect(result.expect(200).body.status).toBe('STOPPED');
    expect(seconds).toBeLessThan(15);
  });

  test('ends with 404 when the resource goes', async () => {
    const id = await world.makeServer(person);
    const waiting = timed(() => person.api.get(`/servers/${id}?waitFor=NEVER&timeout=60`));
    (await person.api.delete(`/servers/${id}`)).expect(204);
    const { seconds, result } = await waiting;
    result.expect(404);
    expect(seconds).toBeLessThan(15);
  });

  async function timed<T>(work: () => Promise<T>): Promise<{ seconds: number; result: T }> {
    const from = performance.now();
    const result = await work();
    return { seconds: (performance.now() - from) / 1000, result };
  }
});
