import { startBerth, type Berth } from '../../support/app.js';
import { expectStatus, json, StorageClient } from './storage-client.js';

let berth: Berth;
let client: StorageClient;
let bucket: string;

const FOLDERS = 40;
const EACH = 500;
const keyAt = (index: number): string =>
  `f${String(Math.floor(index / EACH)).padStart(3, '0')}/${String(index).padStart(6, '0')}`;

beforeAll(async () => {
  berth = await startBerth({ roles: ['api'] });
  client = new StorageClient(berth, await berth.makeAccount());
  bucket = await client.bucket('listed');
  await berth.database.query(
    `INSERT INTO bucket_objects (bucket_id, object_key, blob_id, size, content_type, sha256, modified_at)
     SELECT ?, CONCAT('f', LPAD(FLOOR((seq - 1) / ?), 3, '0'), '/', LPAD(seq - 1, 6, '0')), MD5(seq), seq, 'text/plain',
            SHA2(seq, 256), NOW(3) FROM seq_1_to_${FOLDERS * EACH}`,
    [bucket, EACH],
  );
});
afterAll(() => berth?.close());

interface Page {
  objects: { key: string; size: number }[];
  prefixes: string[];
  nextCursor: string | null;
}

async function page(query: Record<string, string>, id = bucket): Promise<Page> {
  const path = `/storage/buckets/${id}/objects?${new URLSearchParams(query).toString()}`;
  return json(expectStatus(await client.call('GET', path), 200)) as Page;
}

async function walk(query: Record<string, string>, id = bucket, between?: (pages: number) => Promise<unknown>) {
  const found: Page = { objects: [], prefixes: [], nextCursor: null };
  let cursor: string | null = null;
  let pages = 0;
  do {
    const { objects, prefixes, nextCursor }: Page = await page({ ...query, ...(cursor ? { cursor } : {}) }, id);
    if (nextCursor) expect(objects.length + prefixes.length).toBe(Number(query['limit'] ?? 1000));
    found.objects.push(...objects);
    found.prefixes.push(...prefixes);
    cursor = nextCursor;
    pages++;
    await between?.(pages);
  } while (cursor);
  return { ...found, pages };
}

/**
 * How many rows the server has read one after the other, which no clock has a part in. It counts for everybody, and others
 * may be at work: of what can be done again, the least of a few is meant.
 */
async function rowsRead(work: () => Promise<unknown>, times = 5): Promise<number> {
  const read = async () => {
    const rows = await berth.database.query<{ Variable_name: string; Value: string }[]>(
      "SHOW GLOBAL STATUS WHERE Variable_name IN ('Handler_read_next', 'Handler_read_rnd_next', 'Handler_read_prev')",
    );
    return rows.reduce((sum, { Value }) => sum + Number(Value), 0);
  };
  const counts: number[] = [];
  for (let time = 0; time < times; time++) {
    const before = await read();
    await work();
    counts.push((await read()) - before);
  }
  return Math.min(...counts);
}

test('all of it, page by page, each once and in order', async () => {
  const { objects, pages } = await walk({});
  expect(objects.map(({ key }) => key)).toEqual(Array.from({ length: FOLDERS * EACH }, (_, index) => keyAt(index)));
  expect(pages).toBe((FOLDERS * EACH) / 1000);
});

test.each([1, 7, 499, 500, 501, 1000])('the last page is known as such: of %i at a time', async (limit) => {
  const { objects, pages } = await walk({ prefix: 'f007/', limit: String(limit) });
  expect(objects).toHaveLength(EACH);
  expect(pages).toBe(Math.ceil(EACH / limit));
});

test.each<[string, number]>([
  ['', FOLDERS * EACH],
  ['f', FOLDERS * EACH],
  ['f01', 10 * EACH],
  ['f012/00612', 10],
  ['f039/', EACH],
  ['f04', 0],
  ['g', 0],
  ['F', 0],
  ['\u{10ffff}', 0],
  ['%', 0],
  ['f_', 0],
])('with the prefix %j', async (prefix, count) => {
  const { objects } = await walk({ prefix });
  expect(objects).toHaveLength(count);
  expect(objects.every(({ key }) => key.startsWith(prefix))).toBe(true);
});

test('a page at any depth reads as many rows as it shows', async () => {
  for (const depth of [0, 5000, 19_000]) {
    const cursor = Buffer.from(JSON.stringify([0, keyAt(depth)])).toString('base64url');
    expect(await rowsRead(() => page({ cursor }))).toBeLessThan(1500);
  }
});

test('with a delimiter folders are shown once each, and what is in them is jumped over', async () => {
  let found: Page | undefined;
  const read = await rowsRead(async () => (found = await page({ delimiter: '/' })));
  expect(found).toEqual({
    objects: [],
    prefixes: Array.from({ length: FOLDERS }, (_, index) => `f${String(index).padStart(3, '0')}/`),
    nextCursor: null,
  });
  expect(read).toBeLessThan(FOLDERS * 40);
  const { prefixes, pages } = await walk({ delimiter: '/', limit: '7' });
  expect([prefixes, pages]).toEqual([found!.prefixes, 6]);
  expect((await walk({ delimiter: '/', prefix: 'f003/' })).objects).toHaveLength(EACH);
});

test('folders and objects side by side, whatever the delimiter', async () => {
  const mixed = await client.bucket('mixed');
  const keys = [
    '/',
    '//x',
    'a',
    'a/',
    'a/b',
    'a/b/c',
    'a//',
    'ab',
    'b/c',
    'é/ü',
    'é/w',
    'z',
    'x'.repeat(1024),
    `${'y'.repeat(1023)}/`,
  ];
  for (const key of keys) expectStatus(await client.put(mixed, key, 'x'), 201);
  const sorted = [...keys].sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
  for (const delimiter of ['/', '//', 'b', '/b', 'é', 'ü', 'none']) {
    for (const prefix of ['', 'a', 'a/', '/', 'é']) {
      const below = sorted.filter((key) => key.startsWith(prefix));
      const cut = (key: string): string | null => {
        const at = key.indexOf(delimiter, prefix.length);
        return at === -1 ? null : key.slice(0, at + delimiter.length);
      };
      const expected = {
        objects: below.filter((key) => cut(key) === null),
        prefixes: [...new Set(below.map(cut).filter((common) => common !== null))],
      };
      for (const limit of ['1', '2', '3', '1000']) {
        const { objects, prefixes } = await walk({ delimiter, limit, ...(prefix ? { prefix } : {}) }, mixed);
        expect({ objects: objects.map(({ key }) => key), prefixes }).toEqual(expected);
      }
    }
  }
});

test('while others write, what they do not touch is shown once', async () => {
  const moving = await client.bucket('moving');
  const stay = Array.from({ length: 60 }, (_, index) => `k${String(index * 10).padStart(4, '0')}`);
  for (const key of stay) expectStatus(await client.put(moving, key, 'x'), 201);
  let shown: string | undefined;
  const { objects } = await walk({ limit: '7' }, moving, async (pages) => {
    await client.put(moving, `k${String(pages * 70 + 3).padStart(4, '0')}`, 'new');
    await client.put(moving, `a${pages}`, 'new, before all');
    if (shown) expectStatus(await client.delete(moving, shown), 204);
    shown = `k${String(pages * 70 + 3).padStart(4, '0')}`;
  });
  const keys = objects.map(({ key }) => key);
  expect(new Set(keys).size).toBe(keys.length);
  expect(keys.filter((key) => stay.includes(key))).toEqual(stay);
});

test.each([
  ['limit', ['0', '1001', '-1', '1.5', 'all', '', '1e2', '%20']],
  ['cursor', ['', 'x', 'bnVsbA', 'W10', 'WzFd', 'WyJhIiwiYiJd', 'WzIsImEiXQ', 'WzAsIiJd', 'x'.repeat(4097)]],
  ['delimiter', ['', 'x'.repeat(17), '%00']],
  ['prefix', ['x'.repeat(1025), '%00', '%ff']],
])('%s that is none is refused by its name', async (name, values) => {
  for (const value of values) {
    const got = await client.call('GET', `/storage/buckets/${bucket}/objects?${name}=${value}`);
    expect([value, got.status]).toEqual([value, 400]);
    expect(json(got).errors[0]).toMatchObject({ field: name, pointer: `/${name}` });
  }
});

test('a bucket of many objects is deleted at once', async () => {
  const big = await client.bucket('big');
  await berth.database.query('UPDATE bucket_objects SET bucket_id = ? WHERE bucket_id = ?', [big, bucket]);
  await berth.database.query('UPDATE buckets SET objects = ?, used_bytes = 1000000 WHERE id = ?', [
    FOLDERS * EACH,
    big,
  ]);
  const remove = async () => (await client.account.api.delete(`/storage/buckets/${big}`)).expect(204);
  expect(await rowsRead(remove, 1)).toBeLessThan((FOLDERS * EACH) / 4);
  expectStatus(await client.call('GET', `/storage/buckets/${big}/objects`), 404);
  const [row] = await berth.database.query<{ n: string }[]>(
    'SELECT COUNT(*) AS n FROM bucket_objects WHERE bucket_id = ?',
    [big],
  );
  expect(Number(row!.n)).toBe(FOLDERS * EACH);
});
