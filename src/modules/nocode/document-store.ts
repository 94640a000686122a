import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import { MAX_DOCUMENT_BYTES } from './dto/project.dto.js';

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** The quickest level that still takes a document to a fraction; the checksum tells one that was damaged. */
const PARAMS = { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 };

/** A document as it stands in its row. */
export async function packDocument(text: Buffer): Promise<Buffer> {
  return compress(text, { params: PARAMS });
}

/** The document of a row, as it was sent. */
export async function unpackDocument(packed: Buffer): Promise<string> {
  return (await decompress(packed, { maxOutputLength: MAX_DOCUMENT_BYTES })).toString('utf8');
}
