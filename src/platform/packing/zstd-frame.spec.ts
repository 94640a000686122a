import { Readable } from 'node:stream';
import { constants, createZstdCompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { framedBetween } from './zstd-frame.js';

const text = (length: number): Buffer => {
  let state = 7;
  const words = Array.from({ length: Math.ceil(length / 6) }, () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return (state % 5000).toString(36).padStart(5, ' ');
  });
  return Buffer.from(words.join(' ').slice(0, length));
};
const noise = Buffer.from(Array.from({ length: 300_000 }, (_, i) => Math.imul(i, 2_654_435_761) >>> 13));

const CONTENTS: [string, Buffer][] = [
  ['nothing', Buffer.alloc(0)],
  ['a byte', Buffer.from('x')],
  ...[255, 256, 257, 65_535, 65_792, 131_072, 131_073, 600_000, 4_000_000].map((length): [string, Buffer] => [
    `${length} bytes of text`,
    text(length),
  ]),
  ['one byte many times', Buffer.alloc(3_000_000, 'a')],
  ['what cannot be packed', noise],
];
const before = Buffer.from('{"id":"x","data":');
const after = Buffer.from('}');

describe('a frame between other text unpacks to all of it', () => {
  test.each(CONTENTS)('%s', async (_what, content) => {
    for (const level of content.length > 500_000 ? [1] : [-3, 1, 19]) {
      for (const checksum of [0, 1]) {
        const params = { [constants.ZSTD_c_compressionLevel]: level, [constants.ZSTD_c_checksumFlag]: checksum };
        const whole = zstdCompressSync(content, { params });
        // In pieces its size is not known when it begins.
        const inPieces = Readable.from([content]).pipe(createZstdCompress({ params }));
        for (const frame of [whole, Buffer.concat((await inPieces.toArray()) as Buffer[])]) {
          const framed = Buffer.concat(framedBetween(before, frame, after));
          expect(zstdDecompressSync(framed).equals(Buffer.concat([before, content, after]))).toBe(true);
          expect(framed.length).toBeLessThan(frame.length + before.length + after.length + 20);
        }
      }
    }
  });
});

test('what is no whole frame is refused', () => {
  const frame = zstdCompressSync(text(600_000));
  for (const bad of [
    Buffer.alloc(0),
    Buffer.from('{"a":1}   '),
    frame.subarray(0, 20),
    frame.subarray(0, -5),
    frame.subarray(1),
  ])
    expect(() => framedBetween(before, bad, after)).toThrow(/frame/);
});
