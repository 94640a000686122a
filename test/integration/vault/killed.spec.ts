import { setTimeout as delay } from 'node:timers/promises';
import type { Api } from '../../support/api.js';
import { startBerth, type Berth, type TestAccount } from '../../support/app.js';
import { until } from '../../support/until.js';
import { secretsClient, vaultedService } from '../../support/vaulted-service.js';

const SERVICES = 4;
const WRITERS = 16;
const KILLS = 6;

/** The control plane of the vault dies while secrets are written. */
let berth: Berth;
let owner: TestAccount;
let ids: string[];
let clients: Api[];

beforeAll(async () => {
  berth = await startBerth({ processes: [['api'], ['worker', 'node']] });
  owner = await berth.makeAccount();
  ids = await Promise.all(Array.from({ length: SERVICES }, () => vaultedService(owner.api)));
  clients = await Promise.all(ids.map((id) => secretsClient(berth, owner.api, id)));
});
afterAll(() => berth?.close());

test('V-09: killed between commit and anchor, again and again, it can read all that it said was kept', async () => {
  const control = berth.process('api');
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
    await control.kill();
    over = true;
    await Promise.all(writers);
    await control.start();
    for (const [at, values] of kept.entries()) {
      const read = (await clients[at]!.get('/secrets')).expect(200).body as Record<string, string>;
      for (const [key, value] of values) expect(Number(read[key])).toBeGreaterThanOrEqual(value);
    }
  }
  expect(inTheMiddle).toBeGreaterThan(KILLS);
  expect(await berth.database.query('SELECT * FROM vault_incidents')).toEqual([]);
});
