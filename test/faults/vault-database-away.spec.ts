import { startBerth, type Berth } from '../support/app.js';
import { stack } from '../support/stack.js';
import { until } from '../support/until.js';
import { secretsClient, vaultedService } from '../support/vaulted-service.js';

jest.setTimeout(180_000);

const READERS = 16;

let berth: Berth;

beforeAll(async () => {
  berth = await startBerth();
});
afterAll(async () => {
  await stack.mariadb.start();
  await berth?.close();
});

async function recorded(): Promise<number> {
  const [row] = await berth.database.query<{ n: string }[]>('SELECT COUNT(*) AS n FROM vault_reads');
  return Number(row!.n);
}

test('V-18: without the database nothing is served, and with it back all that was served is on record', async () => {
  const { api } = await berth.makeAccount();
  const service = () => vaultedService(api).then((id) => secretsClient(berth, api, id));
  const clients = await Promise.all([service(), service(), service(), service()]);
  const before = await recorded();
  const answers = new Map<number, number>();
  let over = false;
  const readers = Array.from({ length: READERS }, async (_, reader) => {
    while (!over) {
      const { status, body } = await clients[reader % clients.length]!.get('/secrets');
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
