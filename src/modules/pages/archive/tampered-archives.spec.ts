import { createHash, randomBytes } from 'node:crypto';
import { ftruncateSync, mkdirSync, mkdtempSync, openSync, closeSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { Readable } from 'node:stream';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import yazl from 'yazl';
import { fc } from '../../../../test/support/fast-check.js';
import { build } from '../../../../test/support/zip-builder.js';
import { LocalBlobStore } from '../../../drivers/objects/local/local-blob-store.js';
import { ArchiveError } from './archive-error.js';
import { decodeManifest, type Extent, type Manifest } from './manifest.js';
import { Packing } from './pack.js';
import { readContent } from './zip-content.js';
import { readDirectory, type ArchiveLimits, type ZipFileEntry } from './zip-directory.js';

/** P-02: archives as people make them, tampered with. So small that each limit can be met by a byte or two. */
const LIMITS = { entries: 12, inflatedBytes: 12_000 };
const TEXT = '<p>so much to say, and so often</p>'.repeat(60);

async function zip(fill: (archive: yazl.ZipFile) => void, forceZip64Format = false): Promise<Buffer> {
  const archive = new yazl.ZipFile();
  fill(archive);
  archive.end({ forceZip64Format, comment: '' });
  const chunks: Buffer[] = [];
  for await (const chunk of archive.outputStream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

const SITE = { 'index.html': TEXT, 'a/b.txt': 'b', _headers: '/*\n  X-A: b', _redirects: '/a /b', 'é/ü.css': 'p{}' };

const bases = (): Promise<Buffer[]> =>
  Promise.all([
    zip((archive) => Object.entries(SITE).forEach(([name, text]) => archive.addBuffer(Buffer.from(text), name))),
    zip((archive) => {
      for (const [name, text] of Object.entries(SITE)) {
        archive.addBuffer(Buffer.from(text), name, { forceZip64Format: true, compress: false });
      }
    }, true),
    // With sizes behind the data, as streams are packed.
    zip((archive) => {
      archive.addEmptyDirectory('dist');
      archive.addReadStream(Readable.from([TEXT]), 'dist/index.html');
      archive.addReadStream(Readable.from(['x']), 'dist/b/c.js');
    }),
    Promise.resolve(
      build({
        entries: Array.from({ length: 11 }, (_, i) => ({ name: `d${i % 3}/f${i}`, content: `${i}`, method: 0 })),
      }),
    ),
  ]);

const ODD = [0, 1, 8, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xfffffffe, 0xffffffff];
const any = fc.nat(1_000_000);

/** Changes that damage bytes, and changes that know where the fields are. */
const change = fc.oneof(
  fc.record({ what: fc.constant('byte' as const), at: any, to: fc.nat(255) }),
  fc.record({
    what: fc.constant('field' as const),
    header: any,
    at: fc.nat(56),
    bytes: fc.constantFrom(1, 2, 4, 6),
    to: fc.oneof(fc.constantFrom(...ODD), fc.nat(2000)),
  }),
  fc.record({ what: fc.constant('copy' as const), from: any, bytes: fc.nat(200), at: any, instead: fc.boolean() }),
  fc.record({
    what: fc.constant('name' as const),
    header: any,
    to: fc.constantFrom('../', '/', '..', 'A\\', 'C:', '\0'),
  }),
  fc.record({ what: fc.constant('cut' as const), at: any }),
);
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

/** Where the records of an archive begin. */
function headersOf(archive: Buffer): number[] {
  const found: number[] = [];
  for (let at = archive.indexOf('PK'); at !== -1; at = archive.indexOf('PK', at + 2)) {
    if (at + 4 <= archive.length) found.push(at);
  }
  return found.length === 0 ? [0] : found;
}

function tamper(archive: Buffer, how: Change): Buffer {
  if (archive.length === 0) return archive;
  const within = (at: number) => at % archive.length;
  const headers = headersOf(archive);
  switch (how.what) {
    case 'byte':
      archive[within(how.at)] = how.to;
      return archive;
    case 'field': {
      const at = headers[how.header % headers.length]! + how.at;
      if (at + how.bytes <= archive.length) archive.writeUIntLE(how.to % 2 ** (8 * how.bytes), at, how.bytes);
      return archive;
    }
    case 'name':
      rename(archive, how);
      return archive;
    case 'copy': {
      const piece = Buffer.from(archive.subarray(within(how.from), within(how.from) + how.bytes));
      const at = within(how.at);
      return Buffer.concat([archive.subarray(0, at), piece, archive.subarray(how.instead ? at + piece.length : at)]);
    }
    case 'cut':
      return archive.subarray(0, within(how.at));
  }
}

/** In the directory and in the file's own header, which must agree. */
function rename(archive: Buffer, { header, to }: { header: number; to: string }): void {
  const listed = headersOf(archive).filter((at) => at + 46 < archive.length && archive.readUInt16LE(at + 2) === 0x0201);
  if (listed.length === 0) return;
  const at = listed[header % listed.length]!;
  const own = archive.readUInt32LE(at + 42) + 30;
  if (own < archive.length) archive.write(to, own);
  archive.write(to, at + 46);
}

const tampered = (from: readonly Buffer[]): fc.Arbitrary<Buffer> =>
  fc
    .tuple(fc.nat(from.length - 1), fc.array(change, { minLength: 1, maxLength: 4 }))
    .map(([base, changes]) => changes.reduce(tamper, Buffer.from(from[base]!)));

/** What the archive is taken as, or what it is refused with; anything else that is thrown is a fault of ours. */
async function outcomeOf<T>(work: () => Promise<T>): Promise<T | string> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    expect(error.code).toMatch(/^archive_/);
    expect(error.detail.length).toBeLessThan(400);
    return error.code;
  }
}

function checkName(path: string): void {
  const plain = posix.join('/site', path);
  if (plain !== `/site/${path}` || /[\0-\x1f\\]/.test(path)) throw new Error(`a path that leads out: ${path}`);
}

function checkEntries(entries: readonly ZipFileEntry[]): void {
  if (entries.length > LIMITS.entries) throw new Error(`${entries.length} entries`);
  if (entries.reduce((sum, { bytes }) => sum + bytes, 0) > LIMITS.inflatedBytes) throw new Error('too many bytes');
  if (new Set(entries.map(({ path }) => path)).size !== entries.length) throw new Error('a path twice');
  for (const { path } of entries) checkName(path);
}

let archives: Buffer[];
beforeAll(async () => {
  archives = await bases();
  for (const archive of archives) await readDirectory(archive, LIMITS);
});

test('directories and contents of a hundred thousand tampered archives are read within the limits, or refused', async () => {
  const outcomes: Record<string, number> = {};
  const property = fc.asyncProperty(tampered(archives), async (archive) => {
    const outcome = await outcomeOf(async () => {
      const entries = await readDirectory(archive, LIMITS);
      checkEntries(entries);
      for (const entry of entries) {
        if (readContent(archive, entry).length !== entry.bytes) throw new Error('another size than declared');
      }
      return 'taken';
    });
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  });
  await fc.assert(property, { numRuns: 100_000 });
  // It says something only if there was a bit of everything.
  expect(Object.keys(outcomes).length).toBeGreaterThan(10);
  expect(outcomes['taken']).toBeGreaterThan(2500);
}, 120_000);

describe('packed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-tampered-'));
  const store = new LocalBlobStore(join(folder, 'objects'));
  const id = store.newId();
  const fd = openSync(join(folder, 'upload'), 'wx+');
  afterAll(() => {
    closeSync(fd);
    rmSync(folder, { recursive: true });
  });
  mkdirSync(join(folder, 'objects'));

  const files = (): string[] =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map(({ name }) => name);

  /** The pack holds what its manifest says, from the first byte to the last, and nothing else. */
  function check(pack: Buffer, manifestAt: Extent, limits: ArchiveLimits): Manifest {
    const part = ({ at, bytes }: Extent) => pack.subarray(at, at + bytes);
    const manifest = decodeManifest(part(manifestAt));
    const extents: Extent[] = [manifestAt];
    let total = 0;
    for (const [path, file] of Object.entries(manifest.files)) {
      checkName(path);
      const content = part(file);
      total += content.length;
      expect(createHash('sha256').update(content).digest('hex').slice(0, 32)).toBe(file.hash);
      extents.push(file);
      for (const [form, unpack] of [
        [file.br, brotliDecompressSync],
        [file.gzip, gunzipSync],
      ] as const) {
        if (!form) continue;
        extents.push(form);
        expect(unpack(part(form)).equals(content)).toBe(true);
      }
    }
    expect(total).toBeLessThanOrEqual(limits.inflatedBytes);
    let end = 0;
    for (const { at, bytes } of extents.sort((one, other) => one.at - other.at || one.bytes - other.bytes)) {
      expect(at).toBe(end);
      end += bytes;
    }
    expect(end).toBe(pack.length);
    return manifest;
  }

  /** The pack that is stored of it, checked; the code of why there is none. */
  async function pack(archive: Buffer, limits: ArchiveLimits): Promise<Manifest | string> {
    ftruncateSync(fd, 0);
    writeSync(fd, archive, 0, archive.length, 0);
    const packing = new Packing(fd, limits);
    const outcome = await outcomeOf(() => store.put(id, packing.chunks(), { size: archive.length }));
    if (typeof outcome === 'string') {
      expect(files()).toEqual(['upload']);
      return outcome;
    }
    expect(files().sort()).toEqual([id, 'upload'].sort());
    const { manifest: at, files: count, bytes } = packing.summary();
    const manifest = check(await store.read(id, { start: 0, end: outcome.size - 1 }), at, limits);
    expect(Object.keys(manifest.files)).toHaveLength(count);
    expect(bytes).toBeLessThanOrEqual(limits.inflatedBytes);
    await store.delete(id);
    return manifest;
  }

  test('a tampered archive becomes a whole pack, or leaves nothing', async () => {
    let taken = 0;
    const property = fc.asyncProperty(tampered(archives), async (archive) => {
      if (typeof (await pack(archive, LIMITS)) !== 'string') taken++;
    });
    await fc.assert(property, { numRuns: 4000 });
    expect(taken).toBeGreaterThan(100);
  }, 120_000);

  test('large files, which go by pieces, are packed like others', async () => {
    const megabyte = 1024 * 1024;
    const numbers = Buffer.from(Array.from({ length: megabyte / 2 }, (_, i) => `${i} `).join(''));
    const noise = randomBytes(2 * megabyte);
    const entries = [
      { name: 'numbers.html', content: numbers },
      { name: 'stored.html', content: numbers, method: 0 },
      { name: 'numbers.bin', content: numbers },
      { name: 'noise.html', content: noise },
    ];
    const manifest = await pack(build({ entries }), { entries: 10, inflatedBytes: 100 * megabyte });
    if (typeof manifest === 'string') throw new Error(manifest);
    const shape = Object.fromEntries(
      Object.entries(manifest.files).map(([path, { bytes, br, gzip }]) => [path, [bytes, !!br, !!gzip]]),
    );
    expect(shape).toEqual({
      'numbers.html': [numbers.length, true, true],
      'stored.html': [numbers.length, true, true],
      'numbers.bin': [numbers.length, false, false],
      'noise.html': [noise.length, false, false],
    });
    expect(manifest.files['numbers.html']!.hash).toBe(manifest.files['stored.html']!.hash);
  });
});
