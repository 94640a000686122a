import type { Readable } from 'node:stream';
import { BlobError, BlobReader } from '../blob-store.js';

/** Reads what comes over the network, in pieces of whatever size, into the memory it is given. */
export class StreamReader extends BlobReader {
  private readonly pieces: AsyncIterator<Buffer>;
  private rest: Buffer = Buffer.alloc(0);

  constructor(private readonly stream: Readable) {
    super();
    this.pieces = (stream as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  }

  override async read(into: Buffer): Promise<number> {
    while (this.rest.length === 0) {
      const next = await this.next();
      if (next.done) return 0;
      this.rest = next.value;
    }
    const bytes = this.rest.copy(into);
    this.rest = this.rest.subarray(bytes);
    return bytes;
  }

  /** A store of that kind is not ours to fill: it looks after what it reads from by itself. */
  override async stillThere(): Promise<boolean> {
    return true;
  }

  override async close(): Promise<void> {
    this.stream.destroy();
  }

  private async next(): Promise<IteratorResult<Buffer>> {
    try {
      return await this.pieces.next();
    } catch (error) {
      throw new BlobError('unavailable', 'The object store broke off', { cause: error });
    }
  }
}
