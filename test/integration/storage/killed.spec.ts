import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { startBerth, type Berth } from '../../support/app.js';
import { RoleProcess } from '../../support/role-process.js';
import { until } from '../../support/until.js';
import { expectConsistent, expectStatus, StorageClient } from './storage-client.js';

let berth: Berth;
let client: StorageClient;
let root: string;

beforeAll(async () => {
  berth = await startBerth({ processes: [['api'], ['worker']] });
  client = new StorageClient(berth, await berth.makeAccount());
  root = fileURLToPath(berth.env['OBJECT_STORE_URL']!);
});
afterAll(() => berth?.close());

const blobOf = (blobId: string): Buffer | null => {
  const file = join(root, blobId.slice(0, 2), blobId.slice(2, 4), blobId);
  return existsSync(file) ? readFileSync(file) : null;
};
const files = () => readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
const count = async (table: string): Promise<number> =>
  Number((await berth.database.query<{ n: string }[]>(`SELECT COUNT(*) AS n FROM ${table}`))[0]!.n);

/** O-01: where the process is when it dies, as far as it can be seen from outside. */
const MOMENTS: Record<string, (sent: { all: () => void }) => Promise<unknown>> = {
  'when room was kept for it': async () => until('room is kept', async () => (await count('object_uploads')) > 0),
  'when some of it is written': async () =>
    until('a part is there', () => files().some(({ name }) => name.endsWith('.part'))),
  'when all was sent': async ({ all }) => all(),
  'a moment later': async ({ all }) => {
    all();
    await new Promise(setImmediate);
  },
  'when the blob is there': async ({ all }) => {
    const before = files().filter(({ name }) => !name.endsWith('.part')).length;
    all();
    await until('a blob is there', () => files().filter(({ name }) => !name.endsWith('.part')).length > before);
  },
  'when the object is there': async ({ all }) => {
    const before = await count('activity_events');
    all();
    await until('it is an object', async () => (await count('activity_events')) > before);
  },
};

describe.each([true, false])('killed while an object is put, with one under the key before: %s', (replaces) => {
  test.each(Object.entries(MOMENTS))('%s', async (_name, reach) => {
    const api = berth.process('api');
    const bucket = await client.bucket('killed');
    const [before, after] = [randomBytes(200_000), randomBytes(3_000_000)];
    if (replaces) expectStatus(await client.put(bucket, 'key', before), 201);
    const { request, answer } = client.begin(bucket, 'key', { 'content-length': String(after.length) });
    request.on('error', () => undefined);
    const ended = answer.catch(() => undefined);
    request.write(after.subarray(0, 2_000_000));
    await reach({ all: () => request.end(after.subarray(2_000_000)) });
    await api.kill();
    await ended;
    await api.start();

    const found = await client.get(bucket, 'key');
    if (found.status === 200) expect([before, after].some((content) => content.equals(found.bytes))).toBe(true);
    else expectStatus(found, replaces ? 200 : 404);
    // Nobody gives a sign of life for it any more: a minute later it is given up.
    await berth.database.query('UPDATE object_uploads SET seen_at = seen_at - INTERVAL 2 MINUTE');
    await until(
      'all is cleared away',
      async () => (await count('object_uploads')) + (await count('discarded_blobs')) === 0,
    );
    await expectConsistent(berth, blobOf);
    expect(files()).toHaveLength(await count('bucket_objects'));
  });
});

test('killed in the middle of many uploads, what was answered is there and the sums are right', async () => {
  const api = berth.process('api');
  const bucket = await client.bucket('many');
  const answered: string[] = [];
  const contents = new Map(Array.from({ length: 60 }, (_, index) => [`key ${index}`, randomBytes(50_000 + index)]));
  const work = [...contents].map(async ([key, content]) => {
    const { status } = await client.put(bucket, key, content).catch(() => ({ status: 0 }));
    if (status === 201) answered.push(key);
  });
  await until('some are answered', () => answered.length > 5);
  await api.kill();
  await Promise.all(work);
  await api.start();
  for (const key of answered) expect((await client.get(bucket, key)).bytes.equals(contents.get(key)!)).toBe(true);
  await expectConsistent(berth, blobOf);
});

test('on a disk without room the old object stays, and the answer says that it is not the caller', async () => {
  const disk = mkdtempSync(join(tmpdir(), 'berth-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', disk]);
  try {
    mkdirSync(join(disk, 'objects'));
    const url = pathToFileURL(join(disk, 'objects')).href;
    await berth.process('api').stop();
    const full = new RoleProcess(['api'], { ...berth.env, OBJECT_STORE_URL: url });
    await full.start();
    try {
      const bucket = await client.bucket('full');
      const kept = randomBytes(1_000_000);
      expectStatus(await client.put(bucket, 'kept', kept), 201);
      const { usedBytes } = await client.summary();
      for (const key of ['kept', 'new']) {
        expect(
          expectStatus(await client.put(bucket, key, randomBytes(6_000_000)), 503).headers['retry-after'],
        ).toBeDefined();
      }
      expect((await client.get(bucket, 'kept')).bytes.equals(kept)).toBe(true);
      expectStatus(await client.get(bucket, 'new'), 404);
      expect(await berth.database.query('SELECT 1 FROM object_uploads WHERE bucket_id = ?', [bucket])).toEqual([]);
      expect((await client.summary()).usedBytes).toBe(usedBytes);
      const left = readdirSync(disk, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      expect(left).toHaveLength(1);
    } finally {
      await full.stop();
    }
  } finally {
    execFileSync('umount', [disk]);
    rmSync(disk, { recursive: true });
    await berth.process('api').start();
  }
});
