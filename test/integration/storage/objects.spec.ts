import { randomBytes } from 'node:crypto';
import { startBerth, type Berth } from '../../support/app.js';
import { expectStatus, json, sha256, StorageClient, type Got } from './storage-client.js';

let berth: Berth;
let client: StorageClient;

beforeAll(async () => {
  berth = await startBerth();
  client = new StorageClient(berth, await berth.makeAccount());
});
afterAll(() => berth?.close());

describe('keys are bytes and nothing else', () => {
  const KEYS = [
    'plain',
    'a/b/c.txt',
    '/leading',
    '//two',
    'trailing/',
    'trailing ',
    ' leading blank',
    '.',
    '..',
    '../../etc/passwd',
    'a/../b',
    'a/./b',
    './a',
    'Case',
    'case',
    'CASE',
    'caf\u00e9',
    'cafe\u0301',
    '\u212b',
    '\u00c5',
    'ﬁ',
    'fi',
    'straße',
    'strasse',
    'ı',
    'i',
    '😀',
    '\u202eright to left',
    '\u200b',
    '\ufeff',
    '\ufffd',
    '%2f',
    '%252f',
    '%00',
    'a%20b',
    'a b',
    'a+b',
    'a&b=c?d#e',
    'a\\b',
    'quote\'"`;--',
    'con',
    'nul.txt',
    '*?<>|:',
    '~root',
    '$(id)',
    '__proto__',
    'constructor',
    'x'.repeat(1024),
    `${'x'.repeat(1023)}y`,
    'é'.repeat(512),
    '😀'.repeat(256),
  ];
  let bucket: string;

  beforeAll(async () => {
    bucket = await client.bucket('keys', true);
    for (const key of KEYS) {
      const made = expectStatus(await client.put(bucket, key, `content of ${key}`), 201);
      expect(json(made).key).toBe(key);
    }
  });

  test.each(KEYS.map((key) => [key.length > 40 ? `${key.slice(0, 10)}… (${key.length})` : key, key]))(
    '%j',
    async (_name, key) => {
      expect((await client.get(bucket, key)).bytes.toString()).toBe(`content of ${key}`);
      expect(
        json(await client.call('GET', `/storage/buckets/${bucket}/object?key=${encodeURIComponent(key)}`)).key,
      ).toBe(key);
      const open = await client.public(`/storage/public/${bucket}/${encodeURIComponent(key)}`);
      expect([open.status, open.bytes.toString()]).toEqual([200, `content of ${key}`]);
      const path = key.split('/').map(encodeURIComponent).join('/');
      expect((await client.public(`/storage/public/${bucket}/${path}`)).bytes.toString()).toBe(`content of ${key}`);
    },
  );

  test('all are there, once each, in the order of their bytes', async () => {
    const { objects } = json(await client.call('GET', `/storage/buckets/${bucket}/objects`));
    const sorted = [...KEYS].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
    expect(objects.map(({ key }: { key: string }) => key)).toEqual(sorted);
    expect((await client.summary()).objects).toBe(KEYS.length);
  });

  test('names of blobs say nothing of keys', async () => {
    const rows = await berth.database.query<{ blob_id: string }[]>('SELECT blob_id FROM bucket_objects');
    for (const { blob_id: blobId } of rows) expect(blobId).toMatch(/^[0-9a-f]{32}$/);
  });

  test.each([
    ['none', ''],
    ['empty', 'key='],
    ['too long', `key=${'x'.repeat(1025)}`],
    ['too long in bytes', `key=${encodeURIComponent('é'.repeat(513))}`],
    ['twice', 'key=a&key=b'],
    ['NUL', 'key=a%00b'],
    ['a line break', 'key=a%0ab'],
    ['a control character', 'key=%7f'],
    ['one of the other set', 'key=%c2%85'],
    ['no UTF-8', 'key=%ff'],
    ['overlong UTF-8', 'key=%c0%af'],
    ['half of a surrogate pair', 'key=%ed%a0%80'],
    ['a cut encoding', 'key=%e'],
    ['no encoding', 'key=%zz'],
    ['another name', 'Key=a'],
  ])('refused, naming the field: %s', async (_why, query) => {
    for (const [method, path] of [
      ['PUT', 'objects'],
      ['DELETE', 'objects'],
      ['GET', 'object'],
      ['GET', 'download'],
    ] as const) {
      const got = expectStatus(await client.call(method, `/storage/buckets/${bucket}/${path}?${query}`), 400);
      expect(json(got).errors[0].field).toBe('key');
    }
  });

  test('each is deleted alone', async () => {
    const left = new Set(KEYS);
    for (const key of ['Case', 'caf\u00e9', '..', '/leading', 'trailing ']) {
      expectStatus(await client.delete(bucket, key), 204);
      expectStatus(await client.delete(bucket, key), 404);
      left.delete(key);
    }
    const { objects } = json(await client.call('GET', `/storage/buckets/${bucket}/objects`));
    expect(new Set(objects.map(({ key }: { key: string }) => key))).toEqual(left);
  });
});

describe('what is put is what is got', () => {
  let bucket: string;
  beforeAll(async () => (bucket = await client.bucket('content')));

  test.each([
    [undefined, 'application/octet-stream'],
    ['application/json', 'application/json'],
    ['application/json; charset=utf-8', 'application/json; charset=utf-8'],
    ['text/plain;charset="utf-8"', 'text/plain;charset="utf-8"'],
    ['application/x-www-form-urlencoded', 'application/x-www-form-urlencoded'],
    ['multipart/form-data; boundary=x', 'multipart/form-data; boundary=x'],
    ['text/html', 'text/html'],
    ['application/octet-stream', 'application/octet-stream'],
  ])('byte by byte, of media type %s', async (type, stored) => {
    for (const content of [Buffer.from('{"a":1'), Buffer.from('a=1&b'), randomBytes(70_000), Buffer.alloc(0)]) {
      const put = expectStatus(
        await client.put(bucket, 'typed', content, type === undefined ? {} : { 'content-type': type }),
        200,
        201,
      );
      expect(json(put)).toMatchObject({ key: 'typed', size: content.length, contentType: stored });
      expect(put.headers['etag']).toBe(`"${sha256(content)}"`);
      const got = expectStatus(await client.get(bucket, 'typed'), 200);
      expect(got.bytes.equals(content)).toBe(true);
      expect(got.headers).toMatchObject({
        'content-type': stored,
        'content-length': String(content.length),
        etag: `"${sha256(content)}"`,
        'accept-ranges': 'bytes',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
      });
      expect(got.headers['content-disposition']).toMatch(/^attachment; filename="?typed"?$/);
      expect(got.headers['content-security-policy']).toMatch(/sandbox/);
    }
  });

  test('201 when it is new, 200 when it takes the place of another', async () => {
    expectStatus(await client.put(bucket, 'twice', 'one'), 201);
    expectStatus(await client.put(bucket, 'twice', 'two, longer'), 200);
    expect((await client.get(bucket, 'twice')).bytes.toString()).toBe('two, longer');
  });

  test('in chunks of unknown number', async () => {
    const content = randomBytes(9 * 1024 * 1024);
    const { request, answer } = client.begin(bucket, 'chunked', { 'transfer-encoding': 'chunked' });
    for (let at = 0; at < content.length; at += 1_000_000) request.write(content.subarray(at, at + 1_000_000));
    request.end();
    expect(json(expectStatus(await answer, 201)).size).toBe(content.length);
    expect((await client.get(bucket, 'chunked')).bytes.equals(content)).toBe(true);
  });

  test.each([
    ['content-encoding', 'gzip', 415],
    ['content-encoding', 'identity', 200],
    ['content-range', 'bytes 0-1/10', 400],
    ['content-type', 'nothing', 400],
    // Taken apart in every way that there is, it would keep the process busy for ever.
    ['content-type', `a/b${'; '.repeat(120)}(`, 400],
    ['content-type', `a/b${'; '.repeat(120)}c=d`, 200],
    ['content-type', 'text/plain; x', 400],
    ['content-type', `text/${'x'.repeat(260)}`, 400],
    ['if-none-match', '*', 412],
    ['if-match', '"0"', 412],
    ['if-match', '*', 200],
  ])('%s: %s answers %i', async (name, value, status) => {
    await client.put(bucket, 'conditional', 'before');
    const got = expectStatus(await client.put(bucket, 'conditional', 'after', { [name]: value }), status);
    if (status === 400 && name === 'content-type') expect(json(got).errors[0].field).toBe('Content-Type');
    expect((await client.get(bucket, 'conditional')).bytes.toString()).toBe(status === 200 ? 'after' : 'before');
  });

  test('a body in a transfer coding that is not known is not taken for the content', async () => {
    const { request, answer } = client.begin(bucket, 'coded', { 'transfer-encoding': 'gzip, chunked' });
    request.end('abc');
    expectStatus(await answer, 415);
    expectStatus(await client.get(bucket, 'coded'), 404);
  });

  test.each<[string, (etag: string) => string, number]>([
    ['if-match', () => '"x"', 412],
    ['if-match', (etag) => `W/${etag}`, 412],
    ['if-none-match', (etag) => etag, 412],
    ['if-unmodified-since', () => 'Sun, 06 Nov 1994 08:49:37 GMT', 412],
    ['if-unmodified-since', () => 'Sun Nov  6 08:49:37 1994', 412],
    ['if-match', (etag) => etag, 204],
  ])('an object is deleted only where %s holds', async (name, value, status) => {
    const made = await client.put(bucket, 'conditional', 'content');
    expectStatus(await client.delete(bucket, 'conditional', { [name]: value(String(made.headers['etag'])) }), status);
    expectStatus(await client.get(bucket, 'conditional'), status === 204 ? 404 : 200);
  });

  test('If-None-Match: * makes what is not there, and one of many at once makes it', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => client.put(bucket, 'first', `number ${index}`, { 'if-none-match': '*' })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(7);
  });
});

describe('parts and conditions are those of the file system', () => {
  const content = randomBytes(600_000);
  let bucket: string;
  let etag: string;
  let modified: string;

  beforeAll(async () => {
    bucket = await client.bucket('parts', true);
    etag = String(expectStatus(await client.put(bucket, 'file', content), 201).headers['etag']);
    modified = String((await client.get(bucket, 'file')).headers['last-modified']);
  });

  const both = async (headers: Record<string, string>): Promise<Got[]> => [
    await client.get(bucket, 'file', headers),
    await client.public(`/storage/public/${bucket}/file`, { headers }),
  ];

  test.each<[string, number, number]>([
    ['bytes=0-0', 0, 0],
    ['bytes=0-', 0, 599_999],
    ['bytes=5-9', 5, 9],
    ['bytes=-7', 599_993, 599_999],
    ['bytes=-9999999', 0, 599_999],
    ['bytes=599999-', 599_999, 599_999],
    ['bytes=100-99999999', 100, 599_999],
    ['BYTES=1-400000', 1, 400_000],
  ])('%s', async (range, start, end) => {
    for (const got of await both({ range })) {
      expect(expectStatus(got, 206).headers['content-range']).toBe(`bytes ${start}-${end}/600000`);
      expect(got.bytes.equals(content.subarray(start, end + 1))).toBe(true);
    }
  });

  test.each(['bytes=600000-', 'bytes=-0', 'bytes=9999999-9999999'])('%s cannot be satisfied', async (range) => {
    for (const got of await both({ range })) {
      expect(expectStatus(got, 416).headers['content-range']).toBe('bytes */600000');
    }
  });

  test.each(['bytes=0-1,5-6', 'bytes=9-5', 'bytes=x-y', 'lines=1-2', 'bytes'])('%s is all of it', async (range) => {
    for (const got of await both({ range })) expect(expectStatus(got, 200).bytes.length).toBe(content.length);
  });

  const PAST = 'Sat, 01 Jan 2000 00:00:00 GMT';
  const FUTURE = 'Fri, 01 Jan 2100 00:00:00 GMT';
  test.each<[string, () => Record<string, string>, number]>([
    ['the same tag', () => ({ 'if-none-match': etag }), 304],
    ['the same tag, weak', () => ({ 'if-none-match': `W/${etag}` }), 304],
    ['one of several tags', () => ({ 'if-none-match': `"x", ${etag}` }), 304],
    ['any tag', () => ({ 'if-none-match': '*' }), 304],
    ['another tag', () => ({ 'if-none-match': '"x"' }), 200],
    ['another tag goes before a date', () => ({ 'if-none-match': '"x"', 'if-modified-since': FUTURE }), 200],
    ['not modified since then', () => ({ 'if-modified-since': modified }), 304],
    ['modified since', () => ({ 'if-modified-since': PAST }), 200],
    ['a date that is none', () => ({ 'if-modified-since': 'yesterday' }), 200],
    ['a number for a date', () => ({ 'if-modified-since': '0' }), 200],
    ['must be this', () => ({ 'if-match': etag }), 200],
    ['must be another', () => ({ 'if-match': '"x"' }), 412],
    ['must be this, weak', () => ({ 'if-match': `W/${etag}` }), 412],
    ['must be as old', () => ({ 'if-unmodified-since': PAST }), 412],
    ['is as old', () => ({ 'if-unmodified-since': modified }), 200],
    ['a part of this', () => ({ range: 'bytes=0-9', 'if-range': etag }), 206],
    ['a part of another', () => ({ range: 'bytes=0-9', 'if-range': '"x"' }), 200],
    ['a part, weak', () => ({ range: 'bytes=0-9', 'if-range': `W/${etag}` }), 200],
    [
      'a part by a date, which does not tell two versions of a second apart',
      () => ({ range: 'bytes=0-9', 'if-range': modified }),
      200,
    ],
    ['must be as old, in the form of asctime', () => ({ 'if-unmodified-since': 'Sat Jan  1 00:00:00 2000' }), 412],
    ['not modified since, in the form of asctime', () => ({ 'if-modified-since': 'Fri Jan  1 00:00:00 2100' }), 304],
    [
      'not modified since, in the form of RFC 850',
      () => ({ 'if-modified-since': 'Friday, 01-Jan-99 00:00:00 GMT' }),
      200,
    ],
  ])('%s', async (_why, headers, status) => {
    for (const got of await both(headers())) {
      expectStatus(got, status);
      if (status < 400) expect(got.headers['etag']).toBe(etag);
      if (status === 304) expect(got.bytes).toHaveLength(0);
    }
  });

  test('HEAD tells the same without the content', async () => {
    const path = `/storage/buckets/${bucket}/download?key=file`;
    for (const got of [
      await client.call('HEAD', path),
      await client.public(`/storage/public/${bucket}/file`, { method: 'HEAD' }),
    ]) {
      expect([got.status, got.headers['content-length'], got.bytes.length]).toEqual([200, '600000', 0]);
    }
  });
});
