import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import type { ClientRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { QueryRunner } from 'typeorm';
import { startBerth, type Berth } from '../../support/app.js';
import { RoleProcess } from '../../support/role-process.js';
import { until } from '../../support/until.js';
import { expectConsistent, expectStatus, StorageClient } from './storage-client.js';

/** O-01: how many uploads are at one place when the process dies. */
const RUNS = 200;
/** By so many accounts, as each may have only some under way. */
const ACCOUNTS = 10;
const SMALL = 20_000;
/** More than is gathered before it is written. */
const LARGE = 1_100_000;

let berth: Berth;
let clients: StorageClient[];
let client: StorageClient;
let root: string;

beforeAll(async () => {
  berth = await startBerth({ processes: [['api'], ['worker']] });
  clients = [];
  for (let n = 0; n < ACCOUNTS; n++) clients.push(new StorageClient(berth, await berth.makeAccount()));
  client = clients[0]!;
  root = fileURLToPath(berth.env['OBJECT_STORE_URL']!);
});
afterAll(() => berth?.close());

const blobOf = (blobId: string): Buffer | null => {
  const file = join(root, blobId.slice(0, 2), blobId.slice(2, 4), blobId);
  return existsSync(file) ? readFileSync(file) : null;
};
const count = async (table: string): Promise<number> =>
  Number((await berth.database.query<{ n: string }[]>(`SELECT COUNT(*) AS n FROM ${table}`))[0]!.n);

function files(): { name: string; size: number; isPart: boolean }[] {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries.map(({ name, parentPath }) => {
    const { size = 0 } = statSync(join(parentPath, name), { throwIfNoEntry: false }) ?? {};
    return { name, size, isPart: name.endsWith('.part') };
  });
}
const parts = (bytes: number): number => files().filter(({ size, isPart }) => isPart && size >= bytes).length;
const blobs = (): number => files().filter(({ isPart }) => !isPart).length;

interface Place {
  client: StorageClient;
  bucket: string;
  key: string;
}

interface Upload extends Place {
  before: Buffer | undefined;
  after: Buffer;
  request: ClientRequest;
}

/** Uploads into one bucket of each account, every other one in the place of an object that is there already. */
class Uploads {
  private readonly answered = new Set<string>();
  private readonly begun: Upload[] = [];
  private readonly ends: Promise<unknown>[] = [];
  private readonly before = new Map<string, Buffer>();
  private lock: QueryRunner | undefined;

  private constructor(
    private readonly buckets: string[],
    private readonly bytes: number,
  ) {}

  /** With what is to be replaced in its place. */
  static async prepare(bytes: number): Promise<Uploads> {
    const buckets = await Promise.all(clients.map((one) => one.bucket('killed')));
    const uploads = new Uploads(buckets, bytes);
    const make = async (index: number): Promise<void> => {
      const { client, bucket, key } = uploads.place(index);
      const was = randomBytes(1000);
      uploads.before.set(key, was);
      expectStatus(await client.put(bucket, key, was), 201);
    };
    await Promise.all(Array.from({ length: RUNS / 2 }, (_, half) => make(2 * half)));
    return uploads;
  }

  begin(): void {
    const { bytes, before } = this;
    for (let index = 0; index < RUNS; index++) {
      const place = this.place(index);
      const { client, bucket, key } = place;
      const after = randomBytes(bytes);
      const { request, answer } = client.begin(bucket, key, { 'content-length': String(bytes) });
      this.begun.push({ ...place, before: before.get(key), after, request });
      this.ends.push(answer.then(({ status }) => status === 201 && this.answered.add(key)).catch(() => undefined));
    }
  }

  private place(index: number): Place {
    const account = Math.floor((index * ACCOUNTS) / RUNS);
    return { client: clients[account]!, bucket: this.buckets[account]!, key: `key ${index}` };
  }

  async haveRoom(): Promise<void> {
    await until('all have room', async () => (await count('object_uploads')) === RUNS);
  }

  /** The first so many bytes of each. */
  send(bytes: number): void {
    for (const { request, after } of this.begun) request.write(after.subarray(0, bytes));
  }

  sendAll(): void {
    for (const { request, after } of this.begun) request.end(after);
  }

  /** How many have become objects. */
  objects(): Promise<number> {
    return count(`bucket_objects WHERE bucket_id IN ('${this.buckets.join("', '")}') AND size = ${this.bytes}`);
  }

  /** Nobody gets any further with the accounts' rows. */
  async hold(): Promise<void> {
    this.lock = berth.database.source.createQueryRunner();
    await this.lock.startTransaction();
    await this.lock.query('SELECT id FROM accounts WHERE id IN (?) FOR UPDATE', [
      clients.map(({ account }) => account.id),
    ]);
  }

  async letGo(): Promise<void> {
    await this.lock?.rollbackTransaction();
    await this.lock?.release();
  }

  async ended(): Promise<void> {
    await Promise.all(this.ends);
  }

  /** Each object is one of the two, whole; the new one where that was answered. */
  async expectWhole(): Promise<void> {
    const look = async ({ client, bucket, key, before, after }: Upload): Promise<void> => {
      const { status, bytes } = await client.get(bucket, key);
      const found = status === 404 ? undefined : bytes;
      const allowed = this.answered.has(key) ? [after] : [before, after];
      expect([key, allowed.some((one) => (one && found ? one.equals(found) : one === found))]).toEqual([key, true]);
    };
    await Promise.all(this.begun.map(look));
  }
}

/** O-01: where they are, as far as it can be seen from outside. */
const POINTS: Record<string, { bytes?: number; reach: (uploads: Uploads) => Promise<void> }> = {
  'while they wait for room': {
    reach: async (uploads) => {
      await uploads.hold();
      uploads.begin();
      uploads.sendAll();
      const { database } = berth.database.source.driver;
      const waiting = `information_schema.processlist WHERE db = '${database}' AND info LIKE 'SELECT %FOR UPDATE'`;
      await until('some wait for the lock', async () => (await count(waiting)) > 1);
    },
  },
  'with room, and nothing sent': {
    reach: async (uploads) => {
      uploads.begin();
      await uploads.haveRoom();
    },
  },
  'with a part on the disk': {
    bytes: LARGE,
    reach: async (uploads) => {
      uploads.begin();
      uploads.send(LARGE - 1000);
      await until('parts', () => parts(1_000_000) === RUNS);
    },
  },
  'with one byte missing': {
    reach: async (uploads) => {
      uploads.begin();
      uploads.send(SMALL - 1);
      await until('parts', () => parts(0) === RUNS);
    },
  },
  'with the blob in its place and no row for it': {
    reach: async (uploads) => {
      uploads.begin();
      await uploads.haveRoom();
      await uploads.hold();
      const there = blobs();
      uploads.sendAll();
      await until('blobs', () => blobs() === there + RUNS);
    },
  },
  'while they become objects': {
    reach: async (uploads) => {
      uploads.begin();
      await uploads.haveRoom();
      uploads.sendAll();
      await until('some are objects', async () => (await uploads.objects()) > RUNS / 10);
    },
  },
  'when all are objects': {
    reach: async (uploads) => {
      uploads.begin();
      uploads.sendAll();
      await until('all are objects', async () => (await uploads.objects()) === RUNS);
    },
  },
};

test.each(Object.entries(POINTS))(`killed in the middle of ${RUNS} uploads, %s`, async (_where, point) => {
  const api = berth.process('api');
  // Only when it is tried once more.
  if (!api.running) await api.start();
  const uploads = await Uploads.prepare(point.bytes ?? SMALL);
  try {
    await point.reach(uploads);
    await api.kill();
  } finally {
    await uploads.letGo();
  }
  await uploads.ended();
  await api.start();
  await uploads.expectWhole();
  // Nobody gives a sign of life for them any more: a minute later they are given up.
  await berth.database.query('UPDATE object_uploads SET seen_at = seen_at - INTERVAL 2 MINUTE');
  await until(
    'all is cleared away',
    async () => (await count('object_uploads')) + (await count('discarded_blobs')) === 0,
    60_000,
  );
  await expectConsistent(berth, blobOf);
  expect(files()).toHaveLength(await count('bucket_objects'));
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
