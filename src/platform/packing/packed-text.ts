import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress, zstdDecompressSync } from 'node:zlib';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** The quickest level that still takes a document to a fraction; the checksum tells one that was damaged. */
const PARAMS = { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 };

const PIECE = 65_536;

/** A text as it is kept in a row (Zstandard). */
export async function packText(text: Buffer | string): Promise<Buffer> {
  return compress(text, { params: PARAMS, chunkSize: 4 * PIECE });
}

/** What unpacks to no more than this takes a few milliseconds, which others can wait. */
const MAX_AT_ONCE = 8 * 1_048_576;

/**
 * The UTF-8 of a row's text, as it was given; throws when it is damaged or longer than `maxBytes`. What is short is unpacked at
 * once: to have it done by another thread takes longer than to do it. It comes in small pieces, as the last one is kept by what
 * unpacked it until all objects there are are looked through, and much of that makes it happen often.
 */
export async function unpackBytes(packed: Buffer, maxBytes: number): Promise<Buffer> {
  const options = { maxOutputLength: maxBytes, chunkSize: PIECE };
  return maxBytes <= MAX_AT_ONCE ? zstdDecompressSync(packed, options) : decompress(packed, options);
}

/** The same as text. */
export async function unpackText(packed: Buffer, maxBytes: number): Promise<string> {
  return (await unpackBytes(packed, maxBytes)).toString('utf8');
}
