import { randomFillSync } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { build, type Archive, type Entry } from './zip-builder.js';
import { zipQuine } from './zip-quine.js';

const PAGE: Entry = { name: 'index.html', content: 'home' };
const MEGABYTE = 1024 * 1024;
const HUGE = 2n ** 63n;
const zeros = (size: number): Buffer => deflateRawSync(Buffer.alloc(size));
const named = (name: string | Buffer): Archive => ({ entries: [PAGE, { name, content: 'x' }] });

const long = (...zip64: bigint[]): Entry => ({ ...PAGE, method: 0, zip64 });

/** The numbers of 64 bits, which may say what no archive can hold. */
const ZIP64: [name: string, archive: Archive, code: string][] = [
  ['a size beyond all limits', { entries: [{ ...long(HUGE, 4n, 0n), method: 8 }] }, 'archive_file_too_large'],
  ['a packed size beyond the end', { entries: [{ ...long(4n, HUGE, 0n), method: 8 }] }, 'archive_damaged'],
  ['two sizes for a stored file', { entries: [long(4n, 1n << 40n, 0n)] }, 'archive_damaged'],
  ['a header beyond the end', { entries: [long(4n, 4n, HUGE)] }, 'archive_damaged'],
  ['a field that is too short', { entries: [long(4n, 4n)] }, 'archive_damaged'],
  ['no field where one must be', { entries: [long()] }, 'archive_damaged'],
  ['two files in one place', { entries: [long(4n, 4n, 0n), { ...long(4n, 4n, 0n), name: 'b' }] }, 'archive_overlap'],
  [
    'a bomb that says it is small',
    { entries: [{ ...long(100n, BigInt(zeros(40 * MEGABYTE).length), 0n), method: 8, packed: zeros(40 * MEGABYTE) }] },
    'archive_damaged',
  ],
  ['entries without end', { entries: [PAGE], zip64: { count: HUGE } }, 'archive_too_many_files'],
  ['more entries than there are', { entries: [PAGE], zip64: { count: 3n } }, 'archive_damaged'],
  ['a directory beyond the end', { entries: [PAGE], zip64: { directoryAt: HUGE } }, 'archive_damaged'],
  ['an end beyond the end', { entries: [PAGE], zip64: { endAt: HUGE } }, 'archive_not_zip'],
  ['an end that is none', { entries: [PAGE], zip64: { endAt: 0n } }, 'archive_damaged'],
];

/** P-01: what is refused, and the code it is refused with. */
export const REFUSED: [name: string, archive: () => Buffer, code: string][] = [
  ['no archive at all', () => Buffer.from('just text, and not even short'.repeat(10)), 'archive_not_zip'],
  ['nothing', () => Buffer.alloc(0), 'archive_not_zip'],
  ['one that is cut short', () => build({ entries: [PAGE] }).subarray(0, 60), 'archive_not_zip'],
  ['no entries', () => build({ entries: [] }), 'archive_empty'],
  ['folders only', () => build({ entries: [{ name: 'a/', mode: 0o040755, method: 0 }] }), 'archive_empty'],
  ['rules only', () => build({ entries: [{ name: '_headers', content: '/*\n  A: b' }] }), 'archive_empty'],
  ...[
    '../evil.html',
    'a/../../evil.html',
    '/etc/passwd',
    'C:/evil.html',
    'c:evil.html',
    'a\\..\\evil.html',
    '..',
    '.',
    'a//b.html',
    './a.html',
    'a/./b',
    'nul\0.html',
    'line\nbreak.html',
    '\u0085.html',
  ].map((name): [string, () => Buffer, string] => [
    `the path ${JSON.stringify(name)}`,
    () => build(named(name)),
    'archive_path_unsafe',
  ]),
  ['a path that is no UTF-8', () => build(named(Buffer.from([0x61, 0xff, 0xfe]))), 'archive_path_unsafe'],
  [
    'a path of 513 bytes',
    () => build(named(`${'d/'.repeat(20)}${'x'.repeat(255)}/${'x'.repeat(230)}`)),
    'archive_path_too_long',
  ],
  ['a segment of 256 bytes', () => build(named('x'.repeat(256))), 'archive_path_too_long'],
  ['33 segments', () => build(named(`${'d/'.repeat(32)}x`)), 'archive_path_too_long'],
  [
    'paths of more than 200 bytes for each of 10,000 entries',
    () =>
      build({
        entries: Array.from({ length: 4001 }, (_, i) => ({
          name: `${'d'.repeat(250)}/${String(i).padStart(249, 'f')}`,
          method: 0,
        })),
      }),
    'archive_path_too_long',
  ],
  [
    'a symbolic link',
    () => build({ entries: [PAGE, { name: 'link', content: '/etc/passwd', mode: 0o120777 }] }),
    'archive_entry_unsupported',
  ],
  ['a device', () => build({ entries: [PAGE, { name: 'null', mode: 0o020666 }] }), 'archive_entry_unsupported'],
  ['a pipe', () => build({ entries: [PAGE, { name: 'pipe', mode: 0o010666 }] }), 'archive_entry_unsupported'],
  [
    'a folder with content',
    () => build({ entries: [PAGE, { name: 'd/', content: 'x', mode: 0o040755 }] }),
    'archive_entry_unsupported',
  ],
  ['an encrypted file', () => build({ entries: [{ ...PAGE, flags: 0x801 }] }), 'archive_encrypted'],
  ['method 99', () => build({ entries: [{ ...PAGE, method: 99 }] }), 'archive_method_unsupported'],
  ['one path twice', () => build({ entries: [PAGE, PAGE] }), 'archive_path_conflict'],
  ['paths that differ in case', () => build(named('INDEX.html')), 'archive_path_conflict'],
  [
    'paths that differ in their normal form',
    () => build({ entries: [PAGE, { name: '\u00e9' }, { name: 'e\u0301' }] }),
    'archive_path_conflict',
  ],
  [
    'a file that is a folder',
    () => build({ entries: [PAGE, { name: 'a', content: 'x' }, { name: 'a/b', content: 'x' }] }),
    'archive_path_conflict',
  ],
  [
    'a file that is an empty folder',
    () => build({ entries: [PAGE, { name: 'a' }, { name: 'A/', mode: 0o040755, method: 0 }] }),
    'archive_path_conflict',
  ],
  ['200 entries on the same data', () => overlapping(200), 'archive_overlap'],
  [
    'data within other data',
    () =>
      build({
        entries: [
          { ...PAGE, content: 'x'.repeat(500), method: 0 },
          { name: 'b', says: { offset: 40 }, method: 0 },
        ],
      }),
    'archive_overlap',
  ],
  [
    '10,001 entries',
    () => build({ entries: Array.from({ length: 10_001 }, (_, i) => ({ name: `f${i}`, method: 0 })) }),
    'archive_too_many_files',
  ],
  [
    'a file of more than 50 MiB',
    () =>
      build({
        entries: [
          { name: 'big', packed: Buffer.alloc(MEGABYTE), says: { size: 50 * MEGABYTE + 1, packedSize: MEGABYTE } },
        ],
      }),
    'archive_file_too_large',
  ],
  [
    'a file that inflates a thousandfold',
    () => build({ entries: [{ name: 'bomb', content: Buffer.alloc(20 * MEGABYTE) }] }),
    'archive_ratio',
  ],
  [
    'files that inflate to more than 250 MiB together',
    () =>
      build({
        entries: Array.from({ length: 6 }, (_, i) => ({
          name: `b${i}`,
          packed: Buffer.alloc(MEGABYTE),
          says: { size: 45 * MEGABYTE, packedSize: MEGABYTE },
        })),
      }),
    'archive_inflates_too_large',
  ],
  [
    'a bomb that says it is small',
    () =>
      build({
        entries: [
          { name: 'liar', packed: zeros(40 * MEGABYTE), says: { size: 100, packedSize: zeros(40 * MEGABYTE).length } },
        ],
      }),
    'archive_damaged',
  ],
  ...large(),
  ['a file that says it is larger', () => build({ entries: [{ ...PAGE, says: { size: 100 } }] }), 'archive_damaged'],
  ['a wrong checksum', () => build({ entries: [{ ...PAGE, says: { crc: 1 } }] }), 'archive_damaged'],
  [
    'two names for a file',
    () => build({ entries: [{ ...PAGE, says: { localName: 'other.html' } }] }),
    'archive_damaged',
  ],
  [
    'data that cannot be inflated',
    () => build({ entries: [{ ...PAGE, packed: Buffer.from('garbage!') }] }),
    'archive_damaged',
  ],
  [
    'data after the end',
    () => build({ entries: [{ ...PAGE, packed: Buffer.concat([deflateRawSync('home'), Buffer.from('more')]) }] }),
    'archive_damaged',
  ],
  ['a header beyond the end', () => build({ entries: [{ ...PAGE, says: { offset: 100_000 } }] }), 'archive_damaged'],
  [
    'two sizes for a stored file',
    () => build({ entries: [{ ...PAGE, method: 0, says: { size: 3 } }] }),
    'archive_damaged',
  ],
  ['more entries than there are', () => build({ entries: [PAGE], count: 3 }), 'archive_damaged'],
  ['several disks', () => build({ entries: [PAGE], disk: 2 }), 'archive_damaged'],
  ...ZIP64.map(([name, archive, code]): (typeof REFUSED)[number] => [`ZIP64: ${name}`, () => build(archive), code]),
];

/** What goes by pieces is wrong in the same ways. */
function large(): [name: string, archive: () => Buffer, code: string][] {
  const content = Buffer.alloc(3 * MEGABYTE);
  for (let at = 0; at < content.length; at += 1024) randomFillSync(content, at, 40);
  const packed = deflateRawSync(content);
  const cases: Record<string, Partial<Entry>> = {
    'inflates to more than it says': { says: { size: 2 * MEGABYTE } },
    'inflates to less than it says': { says: { size: 4 * MEGABYTE } },
    'has a wrong checksum': { says: { crc: 1 } },
    'cannot be inflated': { packed: Buffer.alloc(packed.length, 'garbage!') },
    'is cut short': { packed: packed.subarray(0, -100) },
    'has data after its end': { packed: Buffer.concat([packed, Buffer.from('more')]) },
  };
  return Object.entries(cases).map(([name, wrong]) => [
    `a large file that ${name}`,
    () => build({ entries: [PAGE, { name: 'large.html', content, packed, ...wrong }] }),
    'archive_damaged',
  ]);
}

/** 204 KB that would be 40 GB. */
function overlapping(count: number): Buffer {
  const content = Buffer.alloc(30 * MEGABYTE, 'x');
  const packed = deflateRawSync(content);
  const padded = Buffer.concat([packed, Buffer.alloc(200 * 1024)]);
  const first = { name: 'f0', packed: padded, says: { size: MEGABYTE, packedSize: padded.length, crc: 0 } };
  const others = Array.from({ length: count - 1 }, (_, i) => ({ ...first, name: `f${i + 1}`, sharesWith: 0 }));
  return build({ entries: [first, ...others] });
}

/** What looks odd and is taken. */
export const TAKEN: [name: string, archive: () => Buffer, path: string, content: string | Buffer][] = [
  [
    'a single folder around it all',
    () =>
      build({
        entries: [
          { name: 'dist/', mode: 0o040755, method: 0 },
          { name: 'dist/index.html', content: 'inner' },
          { name: 'dist/a/b.txt', content: 'b' },
        ],
      }),
    '/a/b.txt',
    'b',
  ],
  [
    'a folder without a page is no root',
    () => build({ entries: [{ name: 'dist/a.txt', content: 'a' }] }),
    '/dist/a.txt',
    'a',
  ],
  [
    'what desktops leave behind',
    () =>
      build({ entries: [PAGE, { name: '__MACOSX/._index.html', content: 'x' }, { name: '.DS_Store', content: 'x' }] }),
    '/',
    'home',
  ],
  ['stored files', () => build({ entries: [{ ...PAGE, method: 0 }] }), '/', 'home'],
  [
    'names that are properties',
    () => build({ entries: [PAGE, { name: '__proto__', content: 'p' }, { name: 'constructor', content: 'c' }] }),
    '/__proto__',
    'p',
  ],
  ['ZIP64', () => build({ entries: [long(4n, 4n, 0n)], zip64: {} }), '/', 'home'],
  ['an archive that holds itself: what is in it is a file like others', zipQuine, '/archive.zip', zipQuine()],
  ['no Unix modes', () => build({ entries: [{ ...PAGE, mode: 0 }] }), '/', 'home'],
];

/** Within all limits to the last byte, and only then found to be wrong: what costs most before it is refused. */
export function heaviest(): Buffer {
  const content = Buffer.alloc(48 * MEGABYTE);
  // As little as it takes not to be repetitive beyond what is taken.
  for (let at = 0; at < content.length; at += 4096) randomFillSync(content, at, 40);
  const packed = deflateRawSync(content);
  const entry = { content, packed };
  const files = Array.from({ length: 5 }, (_, index): Entry => ({ ...entry, name: `data-${index}.bin` }));
  return build({ entries: [PAGE, ...files, { name: 'last.txt', content: 'x', says: { crc: 1 } }] });
}
