import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { createBlobStore } from '../../../src/drivers/objects/blob-store.factory.js';
import { BlobError, type BlobErrorCode, type BlobStore } from '../../../src/drivers/objects/blob-store.js';
import { S3Server, S3_CREDENTIALS } from '../../support/s3-server.js';

interface Target {
  store: BlobStore;
  /** Files below the store's own folder that hold content, whole or in part. */
  remains(): string[];
  close(): Promise<void>;
}

/** O-11: what holds for any store holds for each of them. */
const TARGETS: Record<string, () => Promise<Target>> = {
  'files of this machine': async () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-contract-'));
    return {
      store: await createBlobStore({ url: pathToFileURL(folder).href }),
      remains: () => filesBelow(folder),
      close: async () => rmSync(folder, { recursive: true, force: true }),
    };
  },
  'a store that speaks S3': async () => {
    const server = await S3Server.start();
    return {
      store: await createBlobStore({ url: 's3://blobs/some/prefix', s3Endpoint: server.endpoint }),
      // Parts stay with this server whoever aborts their upload, as it does not know how to: that it was told is what counts.
      remains: () => {
        const begun = server.requests.filter((line) => /^POST .*[?&]uploads/.test(line));
        const ended = server.requests.filter((line) => /^(DELETE|POST) .*[?&]uploadId=/.test(line));
        const open = begun.length - new Set(ended.map((line) => /uploadId=([^&]+)/.exec(line)![1])).size;
        return [...filesBelow(join(server.folder, 'blobs', 'some')), `${open} uploads`];
      },
      close: () => server.close(),
    };
  },
};

const before = { ...process.env };
beforeAll(() => Object.assign(process.env, S3_CREDENTIALS));
afterAll(() => {
  for (const name of Object.keys(S3_CREDENTIALS)) {
    if (before[name] === undefined) delete process.env[name];
  }
});

function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

describe.each(Object.entries(TARGETS))('%s', (_name, open) => {
  let target: Target;
  let store: BlobStore;

  beforeAll(async () => {
    target = await open();
    store = target.store;
  });
  afterAll(() => target?.close());

  const put = (content: Buffer, size?: number, id = store.newId()) =>
    store.put(id, Readable.from(pieces(content)), { size });
  const whole = async (id: string, range?: { start: number; end: number }) =>
    Buffer.concat((await (await store.get(id, range)).toArray()) as Buffer[]);
  const listed = async () => {
    const ids: string[] = [];
    for await (const { blobId } of store.list()) ids.push(blobId);
    return ids;
  };

  async function refuses(work: Promise<unknown>, code: BlobErrorCode): Promise<void> {
    const error: unknown = await work.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(BlobError);
    expect((error as BlobError).code).toBe(code);
  }

  test('can be used', () => store.check());

  test.each([0, 1, 65_536, 5 * 1024 * 1024, 20 * 1024 * 1024 + 3])('takes and gives %i bytes', async (size) => {
    const content = randomBytes(size);
    const sha256 = createHash('sha256').update(content).digest('hex');
    for (const hint of [size, undefined]) {
      const stored = await put(content, hint);
      expect(stored).toEqual({ blobId: stored.blobId, size, sha256 });
      expect((await whole(stored.blobId)).equals(content)).toBe(true);
      expect((await store.stat(stored.blobId)).size).toBe(size);
      expect(Math.abs((await store.stat(stored.blobId)).modifiedAt.getTime() - Date.now())).toBeLessThan(60_000);
      await store.delete(stored.blobId);
    }
  });

  test.each([1000, 65_536, 4 * 1024 * 1024])('reads a part into %i bytes of memory, over and over', async (bytes) => {
    const content = randomBytes(3 * 1024 * 1024 + 7);
    const { blobId } = await put(content);
    for (const [start, end] of [
      [0, content.length - 1],
      [content.length - 1, content.length - 1],
      [1_000_000, 1_070_000],
    ] as const) {
      const reader = await store.open(blobId, { start, end });
      const memory = Buffer.alloc(bytes);
      const read: Buffer[] = [];
      for (let came = 1; came > 0; read.push(Buffer.from(memory.subarray(0, came)))) came = await reader.read(memory);
      expect(Buffer.concat(read).equals(content.subarray(start, end + 1))).toBe(true);
      await reader.close();
    }
    // Whoever goes away leaves in the middle, and may do so twice.
    const left = await store.open(blobId, { start: 0, end: content.length - 1 });
    const reading = left.read(Buffer.alloc(bytes)).catch(() => 0);
    await Promise.all([left.close(), reading]);
    await left.close();
    await store.delete(blobId);
  });

  test('takes what comes in one buffer over and over', async () => {
    const content = randomBytes(20 * 1024 * 1024 + 3);
    const buffer = Buffer.alloc(100_000);
    const overwritten = async function* (): AsyncGenerator<Buffer> {
      for (let at = 0; at < content.length; at += buffer.length) {
        yield buffer.subarray(0, content.copy(buffer, 0, at));
        buffer.fill(0);
      }
    };
    const { blobId } = await store.put(store.newId(), overwritten());
    expect((await whole(blobId)).equals(content)).toBe(true);
    await store.delete(blobId);
  });

  test('gives parts, as a stream and at once', async () => {
    const content = randomBytes(1_000_000);
    const { blobId } = await put(content);
    for (const [start, end] of [
      [0, 1],
      [0, 999_999],
      [5, 9],
      [999_999, 999_999],
      [400_000, 800_000],
    ] as const) {
      expect((await whole(blobId, { start, end })).equals(content.subarray(start, end + 1))).toBe(true);
      expect((await store.read(blobId, { start, end })).equals(content.subarray(start, end + 1))).toBe(true);
    }
  });

  test('has what was put and not what was deleted, which may be deleted again', async () => {
    const { blobId } = await put(Buffer.from('x'));
    expect(await listed()).toContain(blobId);
    await store.delete(blobId);
    await store.delete(blobId);
    expect(await listed()).not.toContain(blobId);
    await refuses(store.get(blobId), 'not_found');
    await refuses(store.read(blobId, { start: 0, end: 0 }), 'not_found');
    await refuses(store.open(blobId, { start: 0, end: 0 }), 'not_found');
    await refuses(store.stat(blobId), 'not_found');
  });

  test.each([0, 100_000, 17 * 1024 * 1024])('a source that fails after %i bytes leaves nothing', async (size) => {
    const failure = new Error('the source is gone');
    const remained = target.remains();
    const source = async function* () {
      for (const piece of pieces(randomBytes(size))) yield piece;
      throw failure;
    };
    const id = store.newId();
    await expect(store.put(id, source())).rejects.toBe(failure);
    await refuses(store.stat(id), 'not_found');
    expect(target.remains()).toEqual(remained);
  });

  test('is not there before its last byte is', async () => {
    const id = store.newId();
    let seen: unknown;
    const source = async function* () {
      yield randomBytes(10 * 1024 * 1024);
      seen = await store.stat(id).catch((error: unknown) => (error as BlobError).code);
      yield randomBytes(10);
    };
    await store.put(id, source());
    expect(seen).toBe('not_found');
    expect((await store.stat(id)).size).toBe(10 * 1024 * 1024 + 10);
  });

  test('lists more than fits a page', async () => {
    const ids: string[] = [];
    // So many at once that no connection has to wait for long.
    for (let round = 0; round < 22; round++) {
      const some = Array.from({ length: 50 }, async () => (await put(Buffer.from('x'), 1)).blobId);
      ids.push(...(await Promise.all(some)));
    }
    const found = new Set(await listed());
    expect(ids.filter((id) => !found.has(id))).toEqual([]);
  });

  test.each(['', '../x', 'X'.repeat(32), 'a'.repeat(31)])('refuses %j for an id', async (id) => {
    await refuses(store.put(id, Readable.from([])), 'invalid');
    await refuses(store.get(id), 'invalid');
    await refuses(store.delete(id), 'invalid');
  });
});

test('a store that is away says so', async () => {
  const server = await S3Server.start();
  const store = await createBlobStore({ url: 's3://blobs', s3Endpoint: server.endpoint });
  const wrong = await createBlobStore({ url: 's3://no-such-bucket', s3Endpoint: server.endpoint });
  const { blobId } = await store.put(store.newId(), Readable.from([Buffer.from('x')]));
  const one = (): Readable => Readable.from([Buffer.from('x')]);
  for (const failure of await failures(wrong.check(), wrong.put(wrong.newId(), one()))) {
    expect(failure).toBeInstanceOf(BlobError);
  }
  await server.kill();
  const lost = await failures(
    store.check(),
    store.get(blobId),
    store.stat(blobId),
    store.delete(blobId),
    store.put(store.newId(), one()),
  );
  for (const failure of lost) expect(failure).toMatchObject({ code: 'unavailable' });
  await server.close();
});

test.each(['s3:', 's3://', 's3://X', 's3://a', 's3://bucket?x=1', 'https://bucket.example', 'folder'])(
  '%s is no address of a store',
  (url) => expect(createBlobStore({ url })).rejects.toThrow(/file:\/path or s3:\/\//),
);

/** Why each of them failed, all heard from the beginning; null for what did not. */
async function failures(...works: Promise<unknown>[]): Promise<unknown[]> {
  const outcomes = await Promise.allSettled(works);
  return outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason : null));
}

function pieces(content: Buffer): Buffer[] {
  const list: Buffer[] = [];
  for (let at = 0; at < content.length; at += 64 * 1024) list.push(content.subarray(at, at + 64 * 1024));
  return list;
}
