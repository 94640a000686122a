import { deflateRawSync } from 'node:zlib';
import { build, type Archive, type Entry } from './zip-builder.js';

const PAGE: Entry = { name: 'index.html', content: 'home' };
const MEGABYTE = 1024 * 1024;
const zeros = (size: number): Buffer => deflateRawSync(Buffer.alloc(size));
const named = (name: string | Buffer): Archive => ({ entries: [PAGE, { name, content: 'x' }] });

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
];

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
export const TAKEN: [name: string, archive: () => Buffer, path: string, text: string][] = [
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
  ['no Unix modes', () => build({ entries: [{ ...PAGE, mode: 0 }] }), '/', 'home'],
];
