import type { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createGzip,
  gzipSync,
  type BrotliOptions,
  type ZlibOptions,
} from 'node:zlib';

/** A content, compressed; without what gains too little. */
export interface CompressedForms {
  br?: Buffer;
  gzip?: Buffer;
}

export const COMPRESS_FROM = 1024;
/** Less than a tenth saved is not worth the room. */
const WORTH = 0.9;
const BROTLI_QUALITY = 5;
const GZIP: ZlibOptions = { level: 6 };

/** Everything waits meanwhile. */
export function compressWhole(content: Buffer): CompressedForms {
  const worth = (form: Buffer) => (form.length < content.length * WORTH ? form : undefined);
  return formsOf(worth(brotliCompressSync(content, brotli(content.length))), worth(gzipSync(content, GZIP)));
}

/** For a content that is too large to hold. `pieces` are asked for once for each form. */
export async function compressPieces(pieces: () => AsyncIterable<Buffer>, bytes: number): Promise<CompressedForms> {
  const squeezed = async (compressor: Transform): Promise<Buffer | undefined> => {
    const chunks: Buffer[] = [];
    let size = 0;
    await pipeline(pieces(), compressor, async (compressed: AsyncIterable<Buffer>) => {
      for await (const chunk of compressed) {
        size += chunk.length;
        if (size < bytes * WORTH) chunks.push(chunk);
        else chunks.length = 0;
      }
    });
    return size < bytes * WORTH ? Buffer.concat(chunks, size) : undefined;
  };
  return formsOf(await squeezed(createBrotliCompress(brotli(bytes))), await squeezed(createGzip(GZIP)));
}

function brotli(bytes: number): BrotliOptions {
  return {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes,
    },
  };
}

function formsOf(br: Buffer | undefined, gzip: Buffer | undefined): CompressedForms {
  return { ...(br ? { br } : {}), ...(gzip ? { gzip } : {}) };
}
