import { setTimeout as delay } from 'node:timers/promises';
import type { Api } from '../support/api.js';
import { startBerth, type Berth, type TestAccount } from '../support/app.js';
import { stack } from '../support/stack.js';
import { until } from '../support/until.js';

jest.setTimeout(180_000);

const SERVICES = 4;
const WRITERS = 16;
const KILLS = 6;
const READERS = 16;

/** The control plane of the vault dies, or its database does, while secrets are written and read. */
let berth: Berth;
let owner: TestAccount;
let ids: string[];
let tokens: Api[];

beforeAll(async () => {
  berth = await startBerth({ processes: [['api'], ['worker', 'node']] });
  owner = await berth.makeAccount();
  ids = await Promise.all(Array.from({ length: SERVICES }, install));
  tokens = await Promise.all(ids.map(tokenOf));
});
afterAll(async () => {
  await stack.mariadb.start();
  await berth?.close();
});

async function install(): Promise<string> {
  const wanted = { name: 'vaulted', runtime: 'nodejs', ram: 128, disk: 512, cpu: 25 };
  const { id } = (await owner.api.post('/servers', wanted)).expect(201).body as { id: string };
  await owner.api.waitFor(`/servers/${id}`, 'RUNNING', 60);
  return id;
}

async function tokenOf(id: string): Promise<Api> {
  const made = (await owner.api.post(`/servers/${id}/vault/token`, { addressLock: false })).expect(201);
  const { token } = made.body as { token: string };
  return berth.client('/vault/v1', { authorization: `Bearer ${token}` });
}

async function recorded(): Promise<number> {
  const [row] = await berth.database.query<{ n: string }[]>('SELECT COUNT(*) AS n FROM vault_reads');
  return Number(row!.n);
}

const api = () => berth.process('api');

test('V-09: killed between commit and anchor, again and again, it can read all that it said was kept', async () => {
  /** By service and key: the newest number that was acknowledged. */
  const kept = ids.map(() => new Map<string, number>());
  let number = 0;
  let inTheMiddle = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    let over = false;
    const writers = Array.from({ length: WRITERS }, async (_, writer) => {
      const at = writer % SERVICES;
      const key = `KEY_${Math.floor(writer / SERVICES)}`;
      while (!over) {
        const value = ++number;
        try {
          (await owner.api.put(`/servers/${ids[at]!}/vault`, { key, value: String(value) })).expect(200, 201);
          kept[at]!.set(key, value);
        } catch {
          inTheMiddle++;
          return;
        }
      }
    });
    const before = number;
    await until('writes are under way', () => number > before + 4 * WRITERS);
    // Anywhere in a write, which takes some milliseconds.
    await delay(Math.random() * 20);
    await api().kill();
    over = true;
    await Promise.all(writers);
    await api().start();
    for (const [at, values] of kept.entries()) {
      const read = (await tokens[at]!.get('/secrets')).expect(200).body as Record<string, string>;
      for (const [key, value] of values) expect(Number(read[key])).toBeGreaterThanOrEqual(value);
    }
  }
  expect(inTheMiddle).toBeGreaterThan(KILLS);
  expect(await berth.database.query('SELECT * FROM vault_incidents')).toEqual([]);
});

test('V-18: without the database nothing is served, and with it back all that was served is on record', async () => {
  const before = await recorded();
  const answers = new Map<number, number>();
  let over = false;
  const readers = Array.from({ length: READERS }, async (_, reader) => {
    while (!over) {
      const { status, body } = await tokens[reader % SERVICES]!.get('/secrets');
      answers.set(status, (answers.get(status) ?? 0) + 1);
      if (status !== 200) expect(body).toMatchObject({ status: 503 });
    }
  });
  const served = () => answers.get(200) ?? 0;
  const refused = () => answers.get(503) ?? 0;
  await until('reads are served', () => served() > 200);
  await stack.mariadb.kill();
  await until('reads are refused', () => refused() > READERS);
  const servedBefore = served();
  await until('more are refused', () => refused() > 3 * READERS);
  expect(served()).toBe(servedBefore);
  await stack.mariadb.start();
  await until('reads are served again', () => served() > servedBefore + 200);
  over = true;
  await Promise.all(readers);
  expect([...answers.keys()].sort()).toEqual([200, 503]);
  const records = (await recorded()) - before;
  expect(records).toBeGreaterThanOrEqual(served());
  // Recorded, and killed before it could say so: nobody was served what it told of.
  expect(records).toBeLessThanOrEqual(served() + READERS);
});
