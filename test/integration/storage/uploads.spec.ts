import { setLimits } from '../../support/own-plan.js';
import { startBerth, type Berth } from '../../support/app.js';
import { until } from '../../support/until.js';
import { expectConsistent, expectStatus, json, StorageClient } from './storage-client.js';
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

async function limited(limits: Record<string, number>): Promise<StorageClient> {
  const account = await berth.makeAccount();
  await setLimits(berth, account, limits);
  return new StorageClient(berth, account);
}

describe('the quota', () => {
  test('twenty uploads at once get what there is and no more, whatever they tell of their size', async () => {
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }] as Record<string, string>[]) {
      const small = await limited({ storage_bytes: 10_000_000 });
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
    const small = await limited({ storage_bytes: 1000 });
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
    const small = await limited({ storage_bytes: 1000 });
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

  test('what is replaced makes room for one upload at a time', async () => {
    const small = await limited({ storage_bytes: 1000 });
    const bucket = await small.bucket('small');
    expectStatus(await small.put(bucket, 'old', Buffer.alloc(600)), 201);
    const first = small.begin(bucket, 'old', { 'content-length': '700' });
    first.request.write(Buffer.alloc(10));
    await uploads(1);
    expectStatus(await small.put(bucket, 'old', Buffer.alloc(600)), 403);
    expectStatus(await small.put(bucket, 'old', Buffer.alloc(300)), 200);
    // It replaces a smaller one now, and takes what it needs beyond.
    first.request.end(Buffer.alloc(690));
    expectStatus(await first.answer, 200);
    expect((await small.summary()).usedBytes).toBe(700);
    expectStatus(await small.put(bucket, 'old', Buffer.alloc(1000)), 200);
  });

  test('of buckets', async () => {
    const small = await limited({ buckets: 2 });
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

test('an account has so many under way and no more, and holds up no other', async () => {
  const [many, other] = [await limited({}), await limited({})];
  const bucket = await many.bucket('many');
  const begun = Array.from({ length: 32 }, (_, index) => {
    const { request, answer } = many.begin(bucket, `slow ${index}`, { 'content-length': '100000' });
    request.write(Buffer.alloc(99_999));
    return { request, answer };
  });
  await uploads(32);
  const late = many.begin(bucket, 'late', { 'content-length': '1000', expect: '100-continue' });
  late.request.on('continue', () => late.request.destroy(new Error('it was let go on')));
  const refused = expectStatus(await late.answer, 429);
  expect([json(refused).code, refused.headers['retry-after']]).toEqual(['too_many_uploads', '10']);
  late.request.destroy();
  await uploads(32);
  expectStatus(await other.put(await other.bucket('other'), 'x', 'not held up'), 201);

  const [last, ...rest] = begun.reverse();
  last!.request.end('x');
  expectStatus(await last!.answer, 201);
  expectStatus(await many.put(bucket, 'late', 'x'), 201);
  for (const { request } of rest) request.destroy();
  await Promise.all(rest.map(({ answer }) => expect(answer).rejects.toThrow()));
  await uploads(0);
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
