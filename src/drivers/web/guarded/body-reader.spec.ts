import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { brotliCompressSync, createBrotliCompress, createGzip, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { WebError } from '../web.js';
import { readBody } from './body-reader.js';

const LIMITS = { maxBytes: 2 * 1_048_576, maxDecodedBytes: 5 * 1_048_576 };
const TEXT = Buffer.from('<p>é '.repeat(10_000));

/** In pieces, as a network hands it out. */
function sent(bytes: Buffer, size = 1000): Readable {
  return Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    })(),
    { objectMode: false },
  );
}

/** Zeros without end; `taken` tells how many were asked for. */
function endless(): { source: Readable; taken: () => number } {
  let taken = 0;
  const piece = Buffer.alloc(65_536);
  const source = new Readable({
    read() {
      taken += piece.length;
      this.push(piece);
    },
  });
  return { source, taken: () => taken };
}

test.each([
  [undefined, TEXT],
  ['identity', TEXT],
  ['gzip', gzipSync(TEXT)],
  ['GZip', gzipSync(TEXT)],
  ['br', brotliCompressSync(TEXT)],
  ['deflate', deflateSync(TEXT)],
  ['deflate', deflateRawSync(TEXT)],
])('%s is decoded', async (encoding, bytes) => {
  for (const size of [1, 1000, 1e6]) {
    const { body, bytes: read, truncated } = await readBody(sent(bytes, size), encoding, LIMITS);
    expect([body.equals(TEXT), read, truncated]).toEqual([true, bytes.length, false]);
  }
});

test('an empty body is none, whatever it is said to be', async () => {
  for (const encoding of ['gzip', 'br', 'deflate', undefined]) {
    expect((await readBody(sent(Buffer.alloc(0)), encoding, LIMITS)).body).toHaveLength(0);
  }
});

test.each(['gzip', 'br', 'deflate'])('what is no %s is refused', async (encoding) => {
  await expect(readBody(sent(Buffer.from('<html>')), encoding, LIMITS)).rejects.toThrow(WebError);
});

test.each(['gzip, gzip', 'zstd', 'compress', 'x'])('%s was not asked for', async (encoding) => {
  await expect(readBody(sent(TEXT), encoding, LIMITS)).rejects.toThrow(WebError);
});

test.each([
  ['gzip', createGzip],
  ['br', createBrotliCompress],
] as const)('of a %s that unpacks without end no more is unpacked than the limit', async (encoding, create) => {
  const { source, taken } = endless();
  const { body, truncated } = await readBody(source.pipe(create()), encoding, LIMITS);
  expect([body.length, truncated]).toEqual([LIMITS.maxDecodedBytes, true]);
  source.destroy();
  expect(taken()).toBeLessThan(2 ** 30);
});

test('of a body without end no more is read than the limit', async () => {
  const { source, taken } = endless();
  const { body, bytes, truncated } = await readBody(source, undefined, LIMITS);
  expect([body.length, bytes, truncated]).toEqual([LIMITS.maxBytes, LIMITS.maxBytes, true]);
  expect(taken()).toBeLessThan(2 * LIMITS.maxBytes);
});

test('of one that is cut off inside its encoding the beginning is judged', async () => {
  const noise = randomBytes(200_000);
  const { body, truncated } = await readBody(sent(gzipSync(noise)), 'gzip', { ...LIMITS, maxBytes: 5_000 });
  expect(truncated).toBe(true);
  expect(body.length).toBeGreaterThan(0);
  expect(noise.subarray(0, body.length).equals(body)).toBe(true);
});
