import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { startBerth, type Berth } from '../../support/app.js';
import { setLimits } from '../../support/own-plan.js';
import { until } from '../../support/until.js';
import { PagesClient, zip, type Site } from './pages-client.js';

const ALLOWED = 100_000;

let berth: Berth;
const clients: PagesClient[] = [];

beforeAll(async () => {
  berth = await startBerth({ processes: [['api'], ['worker']] });
});
afterAll(async () => {
  for (const client of clients) client.close();
  await berth?.close();
});

async function someone(bytes: number): Promise<PagesClient> {
  const account = await berth.makeAccount();
  await setLimits(berth, account, { site_bytes: bytes, site_deployments: 5 });
  const client = new PagesClient(berth, account);
  clients.push(client);
  return client;
}

/** An archive whose pack is a little larger than so many bytes. */
const sized = (bytes: number): Promise<Buffer> => zip({ 'index.html': 'x', 'a.png': randomBytes(bytes) });
const historyOf = async (client: PagesClient, { id }: Site): Promise<unknown[]> =>
  (await client.account.api.get(`/pages/${id}/deployments`)).expect(200).body as unknown[];
const rowsOf = async ({ id }: Site): Promise<number> => {
  const sql = 'SELECT COUNT(*) AS n FROM deployments WHERE site_id = ?';
  return Number((await berth.database.query<{ n: string }[]>(sql, [id]))[0]!.n);
};
const blobs = (): number =>
  readdirSync(fileURLToPath(berth.env['OBJECT_STORE_URL']!), { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  ).length;
/** As if the readers of what is discarded had had their time. */
const removed = (site: Site, rows: number) =>
  until('what is discarded is removed', async () => {
    await berth.database.query(
      'UPDATE deployments SET discarded_at = NOW(3) - INTERVAL 3 MINUTE WHERE site_id = ? AND discarded_at IS NOT NULL',
      [site.id],
    );
    return (await rowsOf(site)) === rows;
  });

test('packs count until they are removed, and past ones make room for the next', async () => {
  const client = await someone(ALLOWED);
  const site = await client.site();
  for (const kept of [1, 2, 2]) {
    await client.deploy(site, await sized(30_000));
    expect(await historyOf(client, site)).toHaveLength(kept);
  }
  const before = { rows: await rowsOf(site), blobs: blobs(), shown: (await client.get(site.domain, '/a.png')).bytes };
  const answer = (await client.send(site.id, await sized(30_000))).expect(403);
  const { code, limit } = answer.body as { code: string; limit: Record<string, unknown> };
  expect([code, limit['name'], limit['allowed']]).toEqual(['quota_exceeded', 'siteBytes', ALLOWED]);
  expect(limit['used']).toBeGreaterThan(90_000);
  expect(limit['requested']).toBeGreaterThan(30_000);
  expect({ rows: await rowsOf(site), blobs: blobs(), shown: (await client.get(site.domain, '/a.png')).bytes }).toEqual(
    before,
  );
  await removed(site, 2);
  await client.deploy(site, await sized(30_000));
});

test('what a deleted site has stored counts until it is gone', async () => {
  const client = await someone(ALLOWED);
  const [one, other] = [await client.shown({ 'index.html': 'x', 'a.png': randomBytes(60_000) }), await client.site()];
  (await client.account.api.delete(`/pages/${one.id}`)).expect(204);
  (await client.send(other.id, await sized(60_000))).expect(403);
  await removed(one, 0);
  (await client.send(other.id, await sized(60_000))).expect(201);
});

test('of deploys at once no more are shown than fit', async () => {
  const client = await someone(ALLOWED);
  const sites = await Promise.all(Array.from({ length: 4 }, () => client.site()));
  const archive = await sized(40_000);
  const answers = await Promise.all(sites.map(({ id }) => client.send(id, archive)));
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 403, 403]);
});

test('where nothing is left, nothing is packed', async () => {
  const client = await someone(0);
  const site = await client.site();
  const { limit } = (await client.send(site.id, await sized(10))).expect(403).body as { limit: unknown };
  expect(limit).toEqual({ name: 'siteBytes', allowed: 0, used: 0, requested: 1 });
  expect(await rowsOf(site)).toBe(0);
});
