import { startBerth, type Berth } from '../../support/app.js';
import { expectStatus, json, StorageClient } from './storage-client.js';

let berth: Berth;
let client: StorageClient;
let bucket: string;

beforeAll(async () => {
  berth = await startBerth({ roles: ['api'], env: { CDN_RATE_LIMIT_PER_MINUTE: '400' } });
  client = new StorageClient(berth, await berth.makeAccount());
  bucket = await client.bucket('public', true);
  expectStatus(await client.put(bucket, 'file.txt', 'for all', { 'content-type': 'text/plain' }), 201);
});
afterAll(() => berth?.close());

const path = (key: string, id = bucket): string => `/storage/public/${id}/${key}`;

/** What no answer may lack. */
const ALWAYS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy':
    "default-src 'none'; img-src 'self' data:; media-src 'self'; style-src 'unsafe-inline'; sandbox",
  'cross-origin-resource-policy': 'cross-origin',
  'access-control-allow-origin': '*',
  'referrer-policy': 'no-referrer',
};

test('anybody reads it, without a credential, and may keep it for a minute', async () => {
  const got = expectStatus(await client.public(path('file.txt')), 200);
  expect(got.bytes.toString()).toBe('for all');
  expect(got.headers).toMatchObject({ ...ALWAYS, 'content-type': 'text/plain', 'cache-control': 'public, max-age=60' });
  expect(got.headers['set-cookie']).toBeUndefined();
  expect(got.headers['content-disposition']).toBeUndefined();
});

test.each<[string, boolean]>([
  ['text/html', false],
  ['TEXT/HTML; charset=utf-8', false],
  ['application/xhtml+xml', false],
  ['image/svg+xml', false],
  ['text/xml', false],
  ['application/xml', false],
  ['application/pdf', false],
  ['application/mathml+xml', false],
  ['application/octet-stream', false],
  ['application/x-unheard-of', false],
  ['text/x-unheard-of', false],
  ['multipart/x-mixed-replace; boundary=x', false],
  ['application/rss+xml', false],
  ['text/plain', true],
  ['text/css', true],
  ['text/javascript', true],
  ['application/json', true],
  ['image/png', true],
  ['image/jpeg', true],
  ['audio/mpeg', true],
  ['video/mp4', true],
  ['font/woff2', true],
])('%s is shown: %s', async (type, shown) => {
  await client.put(bucket, 'dir/a "file" ü.x', '<script>alert(1)</script>', { 'content-type': type });
  const got = expectStatus(await client.public(path(`dir/${encodeURIComponent('a "file" ü.x')}`)), 200);
  expect(got.headers).toMatchObject({ ...ALWAYS, 'content-type': type });
  const disposition = got.headers['content-disposition'];
  if (shown) expect(disposition).toBeUndefined();
  else
    expect(disposition).toMatch(
      /^attachment; filename="a \\"file\\" .\.x"(; filename\*=UTF-8''a%20%22file%22%20%C3%BC\.x)?$/,
    );
});

test('what is private, missing or none at all is the same 404', async () => {
  const closed = await client.bucket('closed');
  await client.put(closed, 'file.txt', 'for some');
  const answers = [];
  for (const target of [
    path('file.txt', closed),
    path('missing', closed),
    path('missing'),
    path('file.txt', bucket.replace('bkt', 'srv')),
    path('file.txt', bucket.toUpperCase()),
    path('file.txt', `${bucket.slice(0, -1)}`),
    path(''),
    `/storage/public/${bucket}`,
    '/storage/public/',
    '/storage/private/x/y',
    '/',
    path('%ff'),
    path('%zz'),
    path('a%00b'),
    path('x'.repeat(2000)),
    `${path('file.txt')}/`,
    path('./file.txt'),
    '/api/v1/me',
    '/health/ready',
    '/internal/node/report',
    '/panel',
    '/docs',
  ]) {
    const got = await client.public(target);
    expect([target, got.status]).toEqual([target, 404]);
    expect(got.headers).toMatchObject({ ...ALWAYS, 'cache-control': 'no-store' });
    const { requestId: _id, instance: _at, ...rest } = json(got);
    answers.push(JSON.stringify(rest));
  }
  expect(new Set(answers).size).toBe(1);
  for (const target of [path('file.txt'), path('missing')]) {
    expectStatus(await client.call('GET', `/../..${target}`), 404);
    expect((await berth.client('').get(target)).status).toBe(404);
  }
});

test('opening and closing a bucket takes effect with the next request', async () => {
  const { api } = client.account;
  for (let round = 0; round < 5; round++) {
    (await api.patch(`/storage/buckets/${bucket}`, { isPublic: false })).expect(200);
    expectStatus(await client.public(path('file.txt')), 404);
    const { body } = (await api.patch(`/storage/buckets/${bucket}`, { isPublic: true })).expect(200);
    expect(body.publicUrl).toBe(`${berth.env['CDN_URL']}/storage/public/${bucket}/`);
    expectStatus(await client.public(path('file.txt')), 200);
  }
  await berth.database.query("UPDATE accounts SET status = 'suspended' WHERE id = ?", [client.account.id]);
  expectStatus(await client.public(path('file.txt')), 404);
  await berth.database.query("UPDATE accounts SET status = 'active' WHERE id = ?", [client.account.id]);
  expectStatus(await client.public(path('file.txt')), 200);
});

test('an address with its origin is the same, and so is a request that expects something', async () => {
  const whole = `${new URL(path('file.txt'), berth.env['CDN_URL']).href}?a=1`;
  expectStatus(await client.public(whole), 200);
  const got = expectStatus(await client.public(path('file.txt'), { headers: { expect: 'much' } }), 200);
  expect(got.headers).toMatchObject({ 'x-request-id': expect.stringMatching(/^req_/), ratelimit: expect.anything() });
});

test('only reading is known there, and nothing becomes a service worker', async () => {
  for (const method of ['PUT', 'POST', 'DELETE', 'PATCH', 'TRACE']) {
    const got = expectStatus(await client.public(path('file.txt'), { method }), 405);
    expect(got.headers).toMatchObject({ ...ALWAYS, allow: 'GET, HEAD, OPTIONS' });
  }
  const options = expectStatus(await client.public(path('file.txt'), { method: 'OPTIONS' }), 204);
  expect(options.headers).toMatchObject({ ...ALWAYS, 'access-control-allow-methods': 'GET, HEAD, OPTIONS' });
  expectStatus(await client.public(path('file.txt'), { headers: { 'service-worker': 'script' } }), 403);
});

test('hundreds asked for at once each get their own', async () => {
  const keys = Array.from({ length: 100 }, (_, index) => `many/${index}`);
  for (const key of keys) await client.put(bucket, key, `content of ${key}`);
  const got = await Promise.all([...keys, 'many/none'].map((key) => client.public(path(key))));
  expect(got.slice(0, -1).map(({ bytes }) => bytes.toString())).toEqual(keys.map((key) => `content of ${key}`));
  expect(got.at(-1)!.status).toBe(404);
});

test('what is put or deleted is so with the next request, whatever was read before', async () => {
  const other = await client.bucket('other', true);
  await client.put(other, 'turn/a', 'of the other');
  await client.put(bucket, 'turn/stays', 'stays');
  const read = async (key: string, id = bucket) => {
    const { status, bytes } = await client.public(path(key, id));
    return status === 200 ? bytes.toString() : status;
  };
  const all = () => Promise.all([read('turn/a'), read('turn/b'), read('turn/stays'), read('turn/a', other)]);
  for (let round = 0; round < 4; round++) {
    // Of one size, so that no counter of the bucket tells.
    await client.put(bucket, 'turn/a', `a${round}`);
    await client.put(bucket, 'turn/b', `b${round}`);
    expect(await all()).toEqual([`a${round}`, `b${round}`, 'stays', 'of the other']);
    expectStatus(await client.delete(bucket, 'turn/b'), 204);
    expect(await all()).toEqual([`a${round}`, 404, 'stays', 'of the other']);
  }
});

test('one that was read before is sent in part, described or left out as any other', async () => {
  await client.put(bucket, 'before', 'abcdef');
  const { etag } = expectStatus(await client.public(path('before')), 200).headers;
  const read = async (headers: object, method = 'GET') => {
    const { status, bytes } = await client.public(path('before'), { method, headers });
    return [status, bytes.toString()];
  };
  expect(await read({ range: 'bytes=1-2' })).toEqual([206, 'bc']);
  expect(await read({ range: 'bytes=0-5' })).toEqual([206, 'abcdef']);
  expect(await read({ 'if-none-match': etag })).toEqual([304, '']);
  expect(await read({}, 'HEAD')).toEqual([200, '']);
  expect(await read({})).toEqual([200, 'abcdef']);
});

test('it has a limit of its own', async () => {
  let last = 0;
  for (let sent = 0; sent <= 400 && last !== 429; sent++) last = (await client.public('/')).status;
  expect(last).toBe(429);
  (await client.account.api.get('/me')).expect(200);
});
