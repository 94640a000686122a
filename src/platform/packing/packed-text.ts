import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** The quickest level that still takes a document to a fraction; the checksum tells one that was damaged. */
const PARAMS = { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 };

/** A text as it is kept in a row (Zstandard). */
export async function packText(text: Buffer | string): Promise<Buffer> {
  return compress(text, { params: PARAMS });
}

/** The text of a row, as it was given; throws when it is damaged or longer than `maxBytes`. */
export async function unpackText(packed: Buffer, maxBytes: number): Promise<string> {
  return (await decompress(packed, { maxOutputLength: maxBytes })).toString('utf8');
}
