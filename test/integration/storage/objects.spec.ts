import { randomBytes } from 'node:crypto';
import { startBerth, type Berth } from '../../support/app.js';
import { until } from '../../support/until.js';
import { expectConsistent, expectStatus, json, sha256, StorageClient, type Got } from './storage-client.js';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

let berth: Berth;
let client: StorageClient;

beforeAll(async () => {
  berth = await startBerth();
  client = new StorageClient(berth, await berth.makeAccount());
});
afterAll(() => berth?.close());

/** The file of a blob, if it is there. */
function blobOf(blobId: string): Buffer | null {
  const root = fileURLToPath(berth.env['OBJECT_STORE_URL']!);
  const file = join(root, blobId.slice(0, 2), blobId.slice(2, 4), blobId);
  return existsSync(file) ? readFileSync(file) : null;
}

async function uploads(count: number): Promise<void> {
  await until(`${count} uploads are under way`, async () => {
    const rows = await berth.database.query('SELECT 1 FROM object_uploads');
    return rows.length === count;
  });
}

async function planOf(id: string, limits: Record<string, number>): Promise<StorageClient> {
  const [row] = await berth.database.query("SELECT * FROM plans WHERE id = 'pro'");
  const name = `${id}-${randomBytes(3).toString('hex')}`;
  const values = { ...row, id: name, ...limits };
  const marks = Object.keys(values).map(() => '?');
  await berth.database.query(`INSERT INTO plans VALUES (${marks.join(', ')})`, Object.values(values));
  return new StorageClient(berth, await berth.makeAccount(name));
}

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
    ['content-type', 'nothing', 400],
    ['content-type', 'text/plain; x', 400],
    ['content-type', `text/${'x'.repeat(260)}`, 400],
    ['if-none-match', '*', 412],
    ['if-match', '"0"', 412],
    ['if-match', '*', 200],
  ])('%s: %s answers %i', async (name, value, status) => {
    await client.put(bucket, 'conditional', 'before');
    const got = expectStatus(await client.put(bucket, 'conditional', 'after', { [name]: value }), status);
    if (status === 400) expect(json(got).errors[0].field).toBe('Content-Type');
    expect((await client.get(bucket, 'conditional')).bytes.toString()).toBe(status === 200 ? 'after' : 'before');
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
    ['a part by date', () => ({ range: 'bytes=0-9', 'if-range': modified }), 206],
    ['a part by another date', () => ({ range: 'bytes=0-9', 'if-range': PAST }), 200],
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

describe('the quota', () => {
  test('twenty uploads at once get what there is and no more, whatever they tell of their size', async () => {
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }] as Record<string, string>[]) {
      const small = await planOf(`only-ten-${Object.keys(headers).length}`, { storage_bytes: 10_000_000 });
      const bucket = await small.bucket('small');
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => {
          const content = Buffer.alloc(1_500_000, index);
          if (!headers['transfer-encoding']) return small.put(bucket, `number ${index}`, content);
          const { request, answer } = small.begin(bucket, `number ${index}`, headers);
          request.on('error', () => undefined);
          for (let at = 0; at < content.length; at += 100_000) request.write(content.subarray(at, at + 100_000));
          request.end();
          return answer;
        }),
      );
      const made = answers.filter(({ status }) => status === 201);
      for (const got of answers.filter(({ status }) => status !== 201)) {
        expect(json(expectStatus(got, 403))).toMatchObject({
          code: 'quota_exceeded',
          limit: { name: 'storageBytes', allowed: 10_000_000 },
        });
      }
      if (!headers['transfer-encoding']) expect(made).toHaveLength(6);
      expect((await small.summary()).usedBytes).toBe(made.length * 1_500_000);
      expect(made.length).toBeLessThanOrEqual(6);
      expect(await berth.database.query('SELECT * FROM object_uploads')).toEqual([]);
    }
  });

  test('is refused before a byte is read, and says what is missing', async () => {
    const small = await planOf('thousand', { storage_bytes: 1000 });
    const bucket = await small.bucket('small');
    expectStatus(await small.put(bucket, 'most', Buffer.alloc(900)), 201);
    const { request, answer } = small.begin(bucket, 'more', { 'content-length': '101', expect: '100-continue' });
    request.on('continue', () => request.destroy(new Error('it was let go on')));
    expect(json(expectStatus(await answer, 403)).limit).toEqual({
      name: 'storageBytes',
      allowed: 1000,
      used: 900,
      requested: 101,
    });
    request.destroy();
    expectStatus(await small.put(bucket, 'rest', Buffer.alloc(100)), 201);
    // What is replaced makes room, and what is deleted does.
    expectStatus(await small.put(bucket, 'most', Buffer.alloc(900, 1)), 200);
    expectStatus(await small.put(bucket, 'most', Buffer.alloc(901)), 403);
    expectStatus(await small.delete(bucket, 'rest'), 204);
    expectStatus(await small.put(bucket, 'most', Buffer.alloc(1000)), 200);
    expect(await small.summary()).toEqual({ usedBytes: 1000, limitBytes: 1000, objects: 1, buckets: 1 });
    // What cannot be is told before what may not be.
    expectStatus(await small.call('PUT', `/storage/buckets/${bucket}/objects?key=`, {}, Buffer.alloc(5000)), 400);
    (await small.account.api.delete(`/storage/buckets/${bucket}`)).expect(204);
    expect(await small.summary()).toEqual({ usedBytes: 0, limitBytes: 1000, objects: 0, buckets: 0 });
  });

  test('what was to be replaced and is deleted meanwhile does not bring more in than there is room for', async () => {
    const small = await planOf('replaced', { storage_bytes: 1000 });
    const bucket = await small.bucket('small');
    expectStatus(await small.put(bucket, 'old', Buffer.alloc(800)), 201);
    const { request, answer } = small.begin(bucket, 'old', { 'content-length': '900' });
    request.write(Buffer.alloc(10));
    await uploads(1);
    expectStatus(await small.delete(bucket, 'old'), 204);
    expectStatus(await small.put(bucket, 'new', Buffer.alloc(800)), 201);
    request.end(Buffer.alloc(890));
    expectStatus(await answer, 403);
    expect((await small.summary()).usedBytes).toBe(800);
  });

  test('of buckets', async () => {
    const small = await planOf('two-buckets', { buckets: 2 });
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => small.account.api.post('/storage/buckets', { name: `bucket-${index}` })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(2);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expect(answer.expect(403).body.limit).toEqual({ name: 'buckets', allowed: 2, used: 2, requested: 1 });
    }
  });
});

describe('at the same time', () => {
  test('of two PUTs of a key one is the result, whole, and is counted once', async () => {
    const bucket = await client.bucket('races');
    const contents = Array.from({ length: 12 }, (_, index) => Buffer.alloc(200_000 + index, index));
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all(contents.map((content) => client.put(bucket, 'contended', content)));
      for (const got of answers) expectStatus(got, 200, 201);
      const { bytes } = await client.get(bucket, 'contended');
      expect(contents.some((content) => content.equals(bytes))).toBe(true);
    }
    await expectConsistent(berth, blobOf);
  });

  test('readers get one whole object or the other while it is replaced', async () => {
    const bucket = await client.bucket('readers');
    const contents = [Buffer.alloc(700_000, 1), Buffer.alloc(300_000, 2), Buffer.alloc(1000, 3)];
    await client.put(bucket, 'read', contents[0]!);
    let writing = true;
    const writer = (async () => {
      for (let round = 0; round < 20; round++) {
        expectStatus(await client.put(bucket, 'read', contents[round % 3]!), 200);
      }
      writing = false;
    })();
    while (writing) {
      const got = expectStatus(await client.get(bucket, 'read'), 200);
      expect(contents.some((content) => content.equals(got.bytes))).toBe(true);
    }
    await writer;
  });

  test('an upload into a bucket that is deleted meanwhile comes to nothing, and nothing is left of either', async () => {
    const bucket = await client.bucket('short-lived');
    expectStatus(await client.put(bucket, 'there', 'x'), 201);
    const { request, answer } = client.begin(bucket, 'late', { 'content-length': '100000' });
    request.write(Buffer.alloc(50_000));
    await uploads(1);
    (await client.account.api.delete(`/storage/buckets/${bucket}`)).expect(204);
    (await client.account.api.get(`/storage/buckets/${bucket}/objects`)).expect(404);
    request.end(Buffer.alloc(50_000));
    expectStatus(await answer, 404);
    await until('the bucket is gone', async () => {
      const rows = await berth.database.query('SELECT 1 FROM buckets WHERE id = ?', [bucket]);
      return rows.length === 0;
    });
    expect(await berth.database.query('SELECT 1 FROM bucket_objects WHERE bucket_id = ?', [bucket])).toEqual([]);
  });

  test('a name can be taken again at once', async () => {
    const { api } = await berth.makeAccount();
    const make = () => api.post('/storage/buckets', { name: 'again' });
    const { id } = (await make()).expect(201).body;
    expect((await make()).expect(409).body.code).toBe('bucket_name_taken');
    (await api.delete(`/storage/buckets/${id}`)).expect(204);
    (await api.delete(`/storage/buckets/${id}`)).expect(404);
    expect((await make()).expect(201).body.id).not.toBe(id);
    (await (await berth.makeAccount()).api.post('/storage/buckets', { name: 'again' })).expect(201);
  });
});

describe('what comes to nothing leaves nothing', () => {
  test('a client that goes away in the middle of it', async () => {
    const bucket = await client.bucket('aborted');
    expectStatus(await client.put(bucket, 'kept', 'as it was'), 201);
    for (const [key, headers] of [
      ['kept', { 'content-length': '1000000' }],
      ['new', { 'content-length': '1000000' }],
      ['new', { 'transfer-encoding': 'chunked' }],
    ] as [string, Record<string, string>][]) {
      const { request, answer } = client.begin(bucket, key, headers);
      request.write(Buffer.alloc(300_000));
      await uploads(1);
      request.destroy();
      await expect(answer).rejects.toThrow();
      await uploads(0);
    }
    expect((await client.get(bucket, 'kept')).bytes.toString()).toBe('as it was');
    expectStatus(await client.get(bucket, 'new'), 404);
  });

  test('replaced and deleted objects leave the store', async () => {
    const bucket = await client.bucket('removed');
    const blobs = async () =>
      (
        await berth.database.query<{ blob_id: string }[]>('SELECT blob_id FROM bucket_objects WHERE bucket_id = ?', [
          bucket,
        ])
      ).map(({ blob_id: blobId }) => blobId);
    await client.put(bucket, 'one', 'first');
    await client.put(bucket, 'two', 'second');
    const old = await blobs();
    await client.put(bucket, 'one', 'third');
    await client.delete(bucket, 'two');
    await until('old blobs are gone', () => old.every((blobId) => blobOf(blobId) === null));
    const [kept] = await blobs();
    expect(blobOf(kept!)?.toString()).toBe('third');
    (await client.account.api.delete(`/storage/buckets/${bucket}`)).expect(204);
    await until('the last blob is gone', () => blobOf(kept!) === null);
  });
});

test('what is done is written down, by whom and from where', async () => {
  const bucket = await client.bucket('events');
  expectStatus(await client.put(bucket, 'key of it', 'x'), 201);
  expectStatus(await client.delete(bucket, 'key of it'), 204);
  (await client.account.api.patch(`/storage/buckets/${bucket}`, { isPublic: true })).expect(200);
  (await client.account.api.patch(`/storage/buckets/${bucket}`, { isPublic: true })).expect(200);
  (await client.account.api.delete(`/storage/buckets/${bucket}`)).expect(204);
  const rows = await berth.database.query<{ event: string; actor_type: string; ip: string }[]>(
    'SELECT event, actor_type, ip FROM activity_events WHERE resource_id = ? ORDER BY id',
    [bucket],
  );
  expect(rows.map(({ event }) => event)).toEqual([
    'bucket:create',
    'bucket:object.put',
    'bucket:object.delete',
    'bucket:update',
    'bucket:delete',
  ]);
  for (const row of rows) expect(row).toMatchObject({ actor_type: 'key', ip: '127.0.0.1' });
});

test('and all of it is consistent', () => expectConsistent(berth, blobOf));
