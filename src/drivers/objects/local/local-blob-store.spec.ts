import { spawn, execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BlobError, type BlobErrorCode } from '../blob-store.js';
import { createBlobStore } from '../blob-store.factory.js';
import { LocalBlobStore } from './local-blob-store.js';

describe('blobs as files', () => {
  let root: string;
  let store: LocalBlobStore;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'berth-blobs-'));
    store = new LocalBlobStore(join(root, 'store'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function files(): string[] {
    const names = readdirSync(root, { recursive: true, encoding: 'utf8' });
    return names.filter((name) => statSync(join(root, name)).isFile());
  }

  const fileOf = (id: string) => join('store', id.slice(0, 2), id.slice(2, 4), id);

  async function listed(): Promise<string[]> {
    const ids: string[] = [];
    for await (const { blobId } of store.list()) ids.push(blobId);
    return ids.sort();
  }

  async function read(id: string, range?: { start: number; end: number }): Promise<Buffer> {
    return Buffer.concat(await (await store.get(id, range)).toArray());
  }

  async function refuses(work: Promise<unknown>, code: BlobErrorCode): Promise<void> {
    const error: unknown = await work.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(BlobError);
    expect((error as BlobError).code).toBe(code);
  }

  test('who reads a blob sees whether it was deleted meanwhile, and reads on', async () => {
    const content = randomBytes(100_000);
    const { blobId } = await store.put(store.newId(), from([content]));
    const reader = await store.open(blobId, { start: 0, end: content.length - 1 });
    expect(await reader.stillThere()).toBe(true);
    await store.delete(blobId);
    expect(await reader.stillThere()).toBe(false);
    const memory = Buffer.alloc(content.length);
    expect(await reader.read(memory)).toBe(content.length);
    expect(memory.equals(content)).toBe(true);
    await reader.close();
  });

  test('what was put comes back, whole and in parts, with its size and hash', async () => {
    const content = randomBytes(3 * 1024 * 1024 + 7);
    const pieces = [
      content.subarray(0, 1),
      content.subarray(1, 1),
      content.subarray(1, 100_000),
      content.subarray(100_000),
    ];
    const id = store.newId();
    const sha256 = createHash('sha256').update(content).digest('hex');
    expect(await store.put(id, from(pieces))).toEqual({ blobId: id, size: content.length, sha256 });
    expect((await read(id)).equals(content)).toBe(true);
    for (const [start, end] of [
      [0, 0],
      [5, 9],
      [content.length - 1, content.length - 1],
      [1_000_000, 2_999_999],
    ] as const) {
      expect((await read(id, { start, end })).equals(content.subarray(start, end + 1))).toBe(true);
    }
    expect(await store.stat(id)).toMatchObject({ size: content.length });
    expect(files()).toEqual([fileOf(id)]);
    expect(statSync(join(root, fileOf(id))).mode & 0o777).toBe(0o600);
    expect(statSync(join(root, 'store', id.slice(0, 2))).mode & 0o777).toBe(0o700);
    expect(await listed()).toEqual([id]);
    await store.delete(id);
    await store.delete(id);
    expect(files()).toEqual([]);
    await refuses(store.get(id), 'not_found');
    await refuses(store.stat(id), 'not_found');
  });

  test('nothing is a blob as well', async () => {
    const id = store.newId();
    expect(await store.put(id, from([]))).toMatchObject({ size: 0 });
    expect(await read(id)).toHaveLength(0);
  });

  test.each([0, 1, 2])(
    'a source that fails after %i pieces leaves nothing, and its error comes through',
    async (count) => {
      const failure = new Error('the source is gone');
      const source = async function* () {
        for (let piece = 0; piece < count; piece++) yield Buffer.alloc(100_000, piece);
        expect(files()).toHaveLength(1);
        expect(files()[0]).toMatch(/\.part$/);
        throw failure;
      };
      const id = store.newId();
      await expect(store.put(id, source())).rejects.toBe(failure);
      expect(files()).toEqual([]);
      await refuses(store.get(id), 'not_found');
    },
  );

  test('a blob that is being written is not there yet, and deleting it stops its writer', async () => {
    const id = store.newId();
    let go = () => {};
    const pause = new Promise<void>((resolve) => (go = resolve));
    const writing = store.put(
      id,
      (async function* () {
        yield Buffer.from('first');
        await pause;
        yield Buffer.from('second');
      })(),
    );
    while (files().length === 0) await new Promise(setImmediate);
    await refuses(store.get(id), 'not_found');
    await refuses(store.stat(id), 'not_found');
    expect(await listed()).toEqual([id]);
    await store.delete(id);
    go();
    await refuses(writing, 'not_found');
    expect(files()).toEqual([]);
  });

  test('a writer that was given up cannot spoil what its successor writes under the same id', async () => {
    const id = store.newId();
    let go = () => {};
    const pause = new Promise<void>((resolve) => (go = resolve));
    const slow = store.put(
      id,
      (async function* () {
        yield Buffer.from('half');
        await pause;
      })(),
    );
    while (files().length === 0) await new Promise(setImmediate);
    await store.delete(id);
    await store.put(id, from([Buffer.from('whole')]));
    go();
    await refuses(slow, 'not_found');
    expect((await read(id)).toString()).toBe('whole');
  });

  test('a process that is killed while it writes leaves no blob, only what the sweep finds', async () => {
    const id = store.newId();
    const folder = join(root, 'store', id.slice(0, 2), id.slice(2, 4));
    const child = spawn(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        `
        const { LocalBlobStore } = await import(${JSON.stringify(built('drivers/objects/local/local-blob-store.js'))});
        const endless = async function* () { for (;;) yield Buffer.alloc(65536, 1); };
        await new LocalBlobStore(process.argv[1]).put(process.argv[2], endless());
        `,
        join(root, 'store'),
        id,
      ],
      { stdio: 'inherit' },
    );
    try {
      while (!files().some((name) => statSync(join(root, name)).size > 1_000_000)) await new Promise(setImmediate);
    } finally {
      child.kill('SIGKILL');
      await new Promise((resolve) => child.once('exit', resolve));
    }
    await refuses(store.get(id), 'not_found');
    const [left] = readdirSync(folder);
    expect(left).toMatch(new RegExp(`^${id}\\.[0-9a-f]{16}\\.part$`));
    const old = new Date('2020-01-01T00:00:00Z');
    utimesSync(join(folder, left!), old, old);
    for await (const entry of store.list()) expect(entry).toEqual({ blobId: id, modifiedAt: old });
    await store.delete(id);
    expect(files()).toEqual([]);
  });

  test('ids lead nowhere else', async () => {
    for (const id of [
      '',
      '..',
      '../../etc/passwd',
      'A'.repeat(32),
      `${'a'.repeat(31)}/`,
      'a'.repeat(33),
      `${'a'.repeat(32)}\n`,
    ]) {
      await refuses(store.get(id), 'invalid');
      await refuses(store.put(id, from([])), 'invalid');
      await refuses(store.delete(id), 'invalid');
    }
  });

  test('a link in the place of a blob is not followed', async () => {
    const id = store.newId();
    const file = join(root, fileOf(id));
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(join(root, 'secret'), 'not for you');
    symlinkSync(join(root, 'secret'), file);
    await refuses(store.get(id), 'unavailable');
  });

  test('what does not belong to it is neither listed nor removed', async () => {
    const id = store.newId();
    await store.put(id, from([Buffer.from('x')]));
    for (const name of ['notes', `${id}.part`, `${id}.bak`, 'a'.repeat(31)]) {
      writeFileSync(join(root, fileOf(id), '..', name), '');
    }
    expect(await listed()).toEqual([id]);
    await store.delete(id);
    expect(files()).toHaveLength(4);
  });

  test('a store whose folder cannot be used says so', async () => {
    writeFileSync(join(root, 'store'), 'a file is in the way');
    await refuses(store.check(), 'unavailable');
    await refuses(store.put(store.newId(), from([])), 'unavailable');
  });

  const asRoot = process.getuid?.() === 0 ? test : test.skip;
  asRoot('a full disk is told apart, and nothing is left of what did not fit', async () => {
    const small = join(root, 'small');
    mkdirSync(small);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', small]);
    try {
      const full = new LocalBlobStore(small);
      await full.check();
      const kept = await full.put(full.newId(), from([Buffer.alloc(200_000)]));
      const many = Array.from({ length: 40 }, () => Buffer.alloc(65_536, 1));
      await refuses(full.put(full.newId(), from(many)), 'full');
      const left = readdirSync(small, { recursive: true, encoding: 'utf8' });
      expect(left.filter((name) => statSync(join(small, name)).isFile())).toHaveLength(1);
      expect((await full.stat(kept.blobId)).size).toBe(200_000);
    } finally {
      execFileSync('umount', [small]);
    }
  });

  test('addresses', async () => {
    expect(await createBlobStore({ url: 'file:///tmp/with%20blank' })).toBeInstanceOf(LocalBlobStore);
    for (const url of ['', '/tmp', 'file:relative', 'http://host/'])
      await expect(createBlobStore({ url })).rejects.toThrow(/file:/);
  });
});

async function* from(pieces: Buffer[]): AsyncGenerator<Buffer> {
  yield* pieces;
}

/** The built form of a source file, for a process of its own. */
function built(path: string): string {
  return new URL(`file://${join(import.meta.dirname, '..', '..', '..', '..', 'dist', 'src', path)}`).href;
}
