import { once } from 'node:events';
import { request as send, type IncomingMessage } from 'node:http';
import { startBerth, type Berth } from '../../support/app.js';
import { until } from '../../support/until.js';
import { PagesClient, zip, type Site } from '../pages/pages-client.js';
import { expectStatus, json, StorageClient } from './storage-client.js';

/** More than the kernel holds for a connection. */
const LARGE = Buffer.alloc(12 * 1024 * 1024, 'x');
const PER_ADDRESS = 50;

let berth: Berth;
let client: StorageClient;
let pages: PagesClient;
let bucket: string;
let site: Site;

beforeAll(async () => {
  berth = await startBerth({ roles: ['api'] });
  client = new StorageClient(berth, await berth.makeAccount());
  pages = new PagesClient(berth, client.account);
  bucket = await client.bucket('large', true);
  expectStatus(await client.put(bucket, 'large', LARGE), 201);
  expectStatus(await client.put(bucket, 'small', 'x'), 201);
  site = await pages.site();
  await pages.deploy(site, await zip({ 'large.bin': LARGE, 'small.txt': 'x' }, false));
});
afterAll(async () => {
  pages?.close();
  await berth?.close();
});

async function ask(port: string, path: string, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  const request = send({ host: '127.0.0.1', port, path, headers, agent: false });
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.on('error', () => undefined);
  return response;
}

/** As the edge passes a request on. */
function throughEdge(from: string): Promise<IncomingMessage> {
  const headers = { host: site.domain, 'x-forwarded-for': from };
  return ask(berth.env['PAGES_ORIGIN_PORT']!, '/large.bin', headers);
}

test('an address has so many downloads open and no more, of whatever kind they are', async () => {
  const path = `/storage/public/${bucket}/large`;
  const cdn = new URL(berth.env['CDN_URL']!).port;
  const plain = berth.env['PAGES_HTTP_PORT']!;
  const opened: IncomingMessage[] = [];
  const open = async (response: Promise<IncomingMessage>): Promise<void> => {
    opened.push(await response);
    expect(opened.at(-1)!.statusCode).toBe(200);
  };
  for (let count = 0; count < PER_ADDRESS - 20; count++) await open(ask(cdn, path));
  for (let count = 0; count < 10; count++) await open(client.stream(bucket, 'large'));
  for (let count = 0; count < 10; count++) await open(ask(plain, '/large.bin', { host: site.domain }));

  for (const got of [await client.public(path), await client.get(bucket, 'large')]) {
    expect(json(expectStatus(got, 429)).code).toBe('too_many_downloads');
    expect(got.headers['retry-after']).toBe('10');
  }
  const page = await pages.get(site.domain, '/large.bin');
  expect([page.status, page.headers['retry-after']]).toEqual([429, '10']);
  expect(page.text).toContain('too many downloads');
  const part = await pages.get(site.domain, '/small.txt', { range: 'bytes=0-0' });
  expect(part.status).toBe(429);

  // What is sent at once goes on, and so do others; who comes through the edge is known by its word.
  expectStatus(await client.public(`/storage/public/${bucket}/small`), 200);
  expect((await pages.get(site.domain, '/small.txt')).status).toBe(200);
  await open(throughEdge('203.0.113.9'));
  expect((await throughEdge('127.0.0.1')).statusCode).toBe(429);

  opened[0]!.destroy();
  await until('the place is free again', async () => {
    const response = await ask(cdn, path);
    opened.push(response);
    return response.statusCode === 200;
  });
  for (const response of opened) response.destroy();
});
