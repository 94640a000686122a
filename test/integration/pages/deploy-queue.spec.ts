import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { request as send, type ClientRequest } from 'node:http';
import { fileURLToPath } from 'node:url';
import { startBerth, type Berth } from '../../support/app.js';
import { until } from '../../support/until.js';
import { form, PagesClient, zip, type Site } from './pages-client.js';

let berth: Berth;
let slow: Buffer;
const clients: PagesClient[] = [];

beforeAll(async () => {
  berth = await startBerth({ processes: [['api']] });
  // Text of two letters takes brotli longest.
  const text = () => Buffer.from(randomBytes(1_500_000).map((byte) => 0x61 + (byte & 1)));
  slow = await zip({ 'index.html': 'slow', 'a.txt': text(), 'b.txt': text() });
});
afterAll(async () => {
  for (const client of clients) client.close();
  await berth?.close();
});

async function someone(): Promise<PagesClient> {
  const client = new PagesClient(berth, await berth.makeAccount());
  clients.push(client);
  return client;
}

/** A deploy that can be given up. */
function begin({ account }: PagesClient, { id }: Site, archive: Buffer): ClientRequest {
  const { raw, headers } = form(archive);
  const request = send(`${berth.baseUrl}/api/v1/pages/${id}/deploy`, {
    method: 'POST',
    agent: false,
    headers: { ...headers, authorization: `Bearer ${account.key}`, 'content-length': raw.length },
  });
  request.on('error', () => undefined);
  request.end(raw);
  return request;
}

const rowsOf = async ({ id }: Site, status: string): Promise<number> => {
  const sql = 'SELECT COUNT(*) AS n FROM deployments WHERE site_id = ? AND status = ?';
  return Number((await berth.database.query<{ n: string }[]>(sql, [id, status]))[0]!.n);
};
const files = (): string[] =>
  readdirSync(fileURLToPath(berth.env['OBJECT_STORE_URL']!), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);

test('an account that brings much waits for itself, and nobody else does', async () => {
  const [many, other] = [await someone(), await someone()];
  const [site, small] = [await many.site(), await other.site()];
  let answered = 0;
  const sent = Array.from({ length: 4 }, async () => {
    const answer = await many.send(site.id, slow);
    answered++;
    return answer.expect(201);
  });
  await until('one is packed', async () => (await rowsOf(site, 'PREPARING')) > 0);
  await other.deploy(small, { 'index.html': 'quick' });
  expect(answered).toBeLessThan(2);
  // What waits has no row yet, whose clock would run.
  expect(await rowsOf(site, 'PREPARING')).toBeLessThan(2);
  const [first] = await Promise.all(sent);
  expect(first!.header('server-timing')).toMatch(/receive;dur=.*wait;dur=.*unpack;dur=/);
  expect(await rowsOf(site, 'READY')).toBe(4);
});

test('what a client goes away from is given up, whether it waits or is packed', async () => {
  const client = await someone();
  const site = await client.shown({ 'index.html': 'before' });
  const before = files();
  const requests = Array.from({ length: 3 }, () => begin(client, site, slow));
  await until('a part is there', () => files().some((name) => name.endsWith('.part')));
  for (const request of requests) request.destroy();
  // The account's turn comes at once, as nothing of it is left.
  await client.deploy(site, { 'index.html': 'after' });
  await until('what was begun is gone', async () => (await rowsOf(site, 'PREPARING')) === 0);
  expect(await rowsOf(site, 'READY')).toBe(2);
  expect(files()).toHaveLength(before.length + 1);
  expect((await client.get(site.domain, '/')).text).toBe('after');
});

test('too many of one account are refused before they are read', async () => {
  const [client, other] = [await someone(), await someone()];
  const site = await client.site();
  const path = `${berth.baseUrl}/api/v1/pages/${site.id}/deploy`;
  const { headers } = form(slow);
  const held = Array.from({ length: 20 }, () => {
    const request = send(path, {
      method: 'POST',
      agent: false,
      headers: {
        ...headers,
        authorization: `Bearer ${client.account.key}`,
        'content-length': 1000,
        expect: '100-continue',
      },
    });
    request.on('error', () => undefined);
    request.flushHeaders();
    return new Promise<ClientRequest>((resolve) => request.once('continue', () => resolve(request)));
  });
  const requests = await Promise.all(held);
  const answer = (await client.send(site.id, slow)).expect(429);
  expect([answer.body.code, Number(answer.header('retry-after'))]).toEqual(['too_many_deploys', 10]);
  await other.shown({ 'index.html': 'not held up' });
  for (const request of requests) request.destroy();
  await until(
    'there is room again',
    async () => (await client.send(site.id, await zip({ 'index.html': 'x' }))).status === 201,
  );
});
