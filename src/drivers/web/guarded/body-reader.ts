import { Readable } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { WebError } from '../web.js';

export interface ReadBody {
  body: Buffer;
  bytes: number;
  truncated: boolean;
}

interface Limits {
  maxBytes: number;
  maxDecodedBytes: number;
}

/** What arrives late for a decoder is missing at the end of its input; it hands out what it has all the same. */
const FLUSH = { finishFlush: constants.Z_SYNC_FLUSH };

/**
 * Reads a body up to its limits, which count while it comes: a small one that unpacks to a large one costs no more than the
 * limit. Of nested encodings none is undone.
 */
export async function readBody(source: Readable, encoding: string | undefined, limits: Limits): Promise<ReadBody> {
  // Whoever ends it early is told so by it.
  source.on('error', () => undefined);
  const counter = new Counter(limits.maxBytes);
  const pieces: Buffer[] = [];
  let size = 0;
  let cut = false;
  try {
    for await (const piece of await decoded(counter.pass(source), encoding)) {
      const chunk = piece as Buffer;
      const room = limits.maxDecodedBytes - size;
      pieces.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
      size += Math.min(chunk.length, room);
      if (chunk.length > room) {
        cut = true;
        break;
      }
    }
  } catch (error) {
    // Where the end was cut off, an encoding that is broken there is ours.
    if (!counter.truncated || !isZlib(error)) throw isZlib(error) ? new WebError('bad_response', error) : error;
  } finally {
    source.destroy();
  }
  return { body: Buffer.concat(pieces, size), bytes: counter.bytes, truncated: cut || counter.truncated };
}

class Counter {
  bytes = 0;
  truncated = false;

  constructor(private readonly max: number) {}

  async *pass(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      const room = this.max - this.bytes;
      this.bytes += Math.min(chunk.length, room);
      yield chunk.length > room ? chunk.subarray(0, room) : chunk;
      if (chunk.length <= room) continue;
      this.truncated = true;
      return;
    }
  }
}

async function decoded(source: AsyncGenerator<Buffer>, encoding: string | undefined): Promise<AsyncIterable<unknown>> {
  const name = (encoding ?? 'identity').trim().toLowerCase();
  if (name === '' || name === 'identity') return source;
  const first = await source.next();
  if (first.done) return source;
  const decoder = decoderOf(name, first.value);
  const input = Readable.from(chained(first.value, source), { objectMode: false });
  input.on('error', (error) => decoder.destroy(error));
  return input.pipe(decoder);
}

function decoderOf(name: string, first: Buffer): ReturnType<typeof createGunzip> {
  if (name === 'gzip' || name === 'x-gzip') return createGunzip(FLUSH);
  if (name === 'br') return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH });
  // Some send it without the wrapping that belongs to it.
  if (name === 'deflate') return (first[0]! & 0x0f) === 8 ? createInflate(FLUSH) : createInflateRaw(FLUSH);
  throw new WebError('bad_response', new Error('an encoding that was not asked for'));
}

async function* chained(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

function isZlib(error: unknown): boolean {
  return /^(Z_|ERR_|BROTLI)/.test((error as { code?: string }).code ?? '') && 'errno' in (error as object);
}
