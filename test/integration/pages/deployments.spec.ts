import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startBerth, type Berth } from '../../support/app.js';
import { until } from '../../support/until.js';
import { form, PagesClient, zip, type Site } from './pages-client.js';

let berth: Berth;
let client: PagesClient;

beforeAll(async () => {
  berth = await startBerth({ processes: [['api'], ['worker']] });
  client = new PagesClient(berth, await berth.makeAccount());
});
afterAll(async () => {
  client?.close();
  await berth?.close();
});

const history = async ({ id }: Site): Promise<{ deployId: string; current: boolean }[]> =>
  (await client.account.api.get(`/pages/${id}/deployments`)).expect(200).body;
const blobOf = (blobId: string): string =>
  join(fileURLToPath(berth.env['OBJECT_STORE_URL']!), blobId.slice(0, 2), blobId.slice(2, 4), blobId);
const files = () =>
  readdirSync(fileURLToPath(berth.env['OBJECT_STORE_URL']!), { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );

const packsOf = async (where: string, ...values: unknown[]): Promise<string[]> => {
  const sql = `SELECT blob_id AS blobId FROM deployments WHERE ${where}`;
  return (await berth.database.query<{ blobId: string }[]>(sql, values)).map(({ blobId }) => blobId);
};

/** A page and a script that belong together: each names the other's content. */
function pair(version: number): Record<string, string> {
  const script = `version(${version})`;
  const name = `app.${createHash('sha256').update(script).digest('hex').slice(0, 12)}a1.js`;
  return { 'index.html': `<script src="/${name}"></script><!--${script}-->`, [name]: script };
}

test('deployments are listed, shown, and shown again as they were', async () => {
  const site = await client.site();
  expect((await client.account.api.get(`/pages/${site.id}`)).body.currentDeployment).toBeNull();
  const first = (await client.send(site.id, await zip({ 'index.html': 'one', 'only.txt': 'first' }))).expect(201);
  expect(first.body).toEqual({
    deployId: expect.stringMatching(/^dep_/),
    ...{ status: 'READY', current: true, files: 2, bytes: 8, previewUrl: null, warnings: [] },
    createdAt: expect.any(String),
  });
  expect(first.header('server-timing')).toMatch(/receive;dur=.*unpack;dur=.*compress;dur=.*publish;dur=/);
  const second = await client.deploy(site, { 'index.html': 'two' });
  expect((await client.get(site.domain, '/')).text).toBe('two');
  expect((await client.get(site.domain, '/only.txt')).status).toBe(404);
  expect((await history(site)).map(({ deployId, current }) => [deployId, current])).toEqual([
    [second, true],
    [first.body.deployId, false],
  ]);
  expect((await client.rollBack(site.id, first.body.deployId)).expect(200).body).toEqual(first.body);
  expect((await client.get(site.domain, '/only.txt')).text).toBe('first');
  expect(await history(site)).toHaveLength(2);
  // Again, and nothing happens.
  (await client.rollBack(site.id, first.body.deployId)).expect(200);
  const other = await client.shown({ 'index.html': 'x' });
  const deployId = (await history(other))[0]?.deployId;
  (await client.rollBack(site.id, deployId!)).expect(404);
});

test('the plan says how many are kept; the current one always is', async () => {
  const small = new PagesClient(berth, await berth.makeAccount('free'));
  const site = await small.site();
  const made: string[] = [];
  for (let version = 0; version < 4; version++) made.push(await small.deploy(site, { 'index.html': `${version}` }));
  (await small.rollBack(site.id, made[0]!)).expect(200);
  for (let version = 4; version < 7; version++) made.push(await small.deploy(site, { 'index.html': `${version}` }));
  const kept = (await small.account.api.get(`/pages/${site.id}/deployments`)).expect(200).body as {
    deployId: string;
  }[];
  expect(kept.map(({ deployId }) => deployId)).toEqual(made.slice(2).reverse());
  (await small.rollBack(site.id, made[0]!)).expect(404);
  const [blobId = ''] = await packsOf('id = ?', made[0]);
  expect(existsSync(blobOf(blobId))).toBe(true);
  await berth.database.query('UPDATE deployments SET discarded_at = discarded_at - INTERVAL 3 MINUTE');
  await until('its pack is gone', () => !existsSync(blobOf(blobId)));
  expect((await small.get(site.domain, '/')).text).toBe('6');
  small.close();
});

test('P-04: readers of 1,000 switches see one deployment or the other, and never nothing', async () => {
  const site = await client.site();
  const versions: string[] = [];
  for (let version = 0; version < 4; version++) versions.push(await client.deploy(site, pair(version)));
  let done = false;
  let pages = 0;
  const faults: string[] = [];
  const reader = async (): Promise<void> => {
    while (!done && faults.length === 0) {
      const page = await client.get(site.domain, '/');
      const [, name, script] = /src="([^"]+)".*<!--(.*)-->/.exec(page.text) ?? [];
      if (page.status !== 200 || name === undefined) faults.push(`the page: ${page.status} ${page.text}`);
      else {
        const asset = await client.get(site.domain, name);
        if (asset.status !== 200 || asset.text !== script) faults.push(`${name}: ${asset.status} ${asset.text}`);
      }
      pages++;
    }
  };
  const readers = Array.from({ length: 4 }, reader);
  let next = 0;
  const switcher = async (): Promise<void> => {
    while (next < 1000) (await client.rollBack(site.id, versions[next++ % versions.length]!)).expect(200);
  };
  await Promise.all(Array.from({ length: 16 }, switcher));
  // New ones among them as well.
  for (let version = 4; version < 8; version++) await client.deploy(site, pair(version));
  done = true;
  await Promise.all(readers);
  expect(faults).toEqual([]);
  expect(pages).toBeGreaterThan(100);
});

test('parallel deployments of a site are all there, and one of them is shown', async () => {
  const site = await client.site();
  const answers = await Promise.allSettled(
    Array.from({ length: 6 }, (_, index) => client.deploy(site, { 'index.html': `number ${index}` })),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 'fulfilled'));
  const list = await history(site);
  expect(list).toHaveLength(6);
  expect(list.filter(({ current }) => current)).toHaveLength(1);
  const { text } = await client.get(site.domain, '/');
  expect(text).toMatch(/^number [0-5]$/);
});

test('a repetition with the same Idempotency-Key deploys nothing', async () => {
  const site = await client.site();
  const archive = await zip({ 'index.html': 'once' });
  const send = () => {
    const { raw, headers } = form(archive);
    return client.account.api.send('POST', `/pages/${site.id}/deploy`, {
      raw,
      headers: { ...headers, 'idempotency-key': 'deploy-1' },
    });
  };
  const first = (await send()).expect(201).body;
  expect((await send()).expect(201).body).toEqual(first);
  expect(await history(site)).toHaveLength(1);
});

test('a deleted site leaves nothing behind', async () => {
  const site = await client.shown({ 'index.html': 'x' });
  const packs = await packsOf('site_id = ?', site.id);
  (await client.account.api.delete(`/pages/${site.id}`)).expect(204);
  const count = async (): Promise<number> =>
    Number(
      (await berth.database.query<{ n: string }[]>('SELECT COUNT(*) AS n FROM sites WHERE id = ?', [site.id]))[0]!.n,
    );
  await until('its rows are gone', async () => {
    await berth.database.query(
      "UPDATE deployments SET discarded_at = NOW(3) - INTERVAL 3 MINUTE WHERE site_id = ? AND status = 'READY'",
      [site.id],
    );
    return (await count()) === 0;
  });
  for (const blobId of packs) expect(existsSync(blobOf(blobId))).toBe(false);
});

/** P-05: where the process is when it dies, as far as it can be seen from outside. */
describe('P-05: killed while it deploys', () => {
  const preparing = async () =>
    Number(
      (
        await berth.database.query<{ n: string }[]>("SELECT COUNT(*) AS n FROM deployments WHERE status = 'PREPARING'")
      )[0]!.n,
    );

  test.each<[moment: string, reached: () => Promise<unknown>]>([
    ['when it has begun', () => until('a row is there', async () => (await preparing()) > 0)],
    [
      'when some of the pack is written',
      () => until('a part is there', () => files().some(({ name }) => name.endsWith('.part'))),
    ],
    [
      'when the pack is there',
      async () => {
        const before = new Set(files().map(({ name }) => name));
        await until('a pack is there', () => files().some(({ name }) => !name.endsWith('.part') && !before.has(name)));
      },
    ],
  ])('%s', async (_moment, reached) => {
    const site = await client.shown({ 'index.html': 'before' });
    const lines = Array.from({ length: 40 }, (_, i) => [`f${i}.txt`, randomBytes(150_000).toString('base64')] as const);
    const archive = await zip({ 'index.html': 'after', ...Object.fromEntries(lines) });
    const api = berth.process('api');
    const sent = client.send(site.id, archive).catch(() => undefined);
    await reached();
    await api.kill();
    await sent;
    await api.start();
    const list = await history(site);
    const shown = (await client.get(site.domain, '/')).text;
    expect(['before', 'after']).toContain(shown);
    expect(list).toHaveLength(shown === 'before' ? 1 : 2);
    if (shown === 'after') expect((await client.get(site.domain, '/f39.txt')).text).toHaveLength(200_000);
    // Whoever was at it is dead: some minutes later it is given up, and later still removed.
    await berth.database.query(
      "UPDATE deployments SET created_at = created_at - INTERVAL 10 MINUTE WHERE status = 'PREPARING'",
    );
    await until('what was begun is cleared away', async () => {
      await berth.database.query(
        'UPDATE deployments SET discarded_at = discarded_at - INTERVAL 3 MINUTE WHERE discarded_at > NOW(3) - INTERVAL 1 MINUTE',
      );
      return (await preparing()) === 0;
    });
    const owned = await packsOf('TRUE');
    expect(
      files()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(owned.sort());
  });
});
