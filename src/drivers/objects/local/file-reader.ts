import type { FileHandle } from 'node:fs/promises';
import { BlobError, BlobReader, type ByteRange } from '../blob-store.js';

/** Reads a part of a file, straight into the memory it is given. */
export class FileReader extends BlobReader {
  private at: number;

  constructor(
    private readonly handle: FileHandle,
    private readonly range: ByteRange,
  ) {
    super();
    this.at = range.start;
  }

  override async read(into: Buffer): Promise<number> {
    const length = Math.min(into.length, this.range.end + 1 - this.at);
    if (length <= 0) return 0;
    const { bytesRead } = await this.handle.read(into, 0, length, this.at);
    if (bytesRead === 0) throw new BlobError('unavailable', 'A blob is shorter than what is asked of it');
    this.at += bytesRead;
    return bytesRead;
  }

  override async stillThere(): Promise<boolean> {
    return (await this.handle.stat()).nlink > 0;
  }

  override close(): Promise<void> {
    return this.handle.close();
  }
}
