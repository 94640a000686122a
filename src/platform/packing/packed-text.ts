import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** The quickest level that still takes a document to a fraction; the checksum tells one that was damaged. */
const PARAMS = { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 };

const PIECE = 65_536;

/** A text as it is kept in a row (Zstandard). */
export async function packText(text: Buffer | string): Promise<Buffer> {
  return compress(text, { params: PARAMS, chunkSize: 4 * PIECE });
}

/**
 * The UTF-8 of a row's text, as it was given; throws when it is damaged or longer than `maxBytes`. With the size that is
 * expected it comes in one piece, which is quicker than many.
 */
export async function unpackBytes(packed: Buffer, maxBytes: number, expected = 0): Promise<Buffer> {
  const chunkSize = Math.min(maxBytes, Math.max(PIECE, expected + PIECE));
  return decompress(packed, { maxOutputLength: maxBytes, chunkSize });
}

/** The same as text. */
export async function unpackText(packed: Buffer, maxBytes: number): Promise<string> {
  return (await unpackBytes(packed, maxBytes)).toString('utf8');
}
