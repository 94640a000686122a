import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { StringDecoder } from 'node:string_decoder';

export const MAX_OUTPUT = 1024 * 1024;

/** The first part of one of a command's outputs. */
export class ExecOutput {
  private whole = false;
  private cut = false;
  private readonly chunks: Buffer[] = [];
  private size = 0;

  /** Reads to the end. What is not kept is read slowly, so that endless output costs next to nothing. */
  async readFrom(stream: Readable): Promise<void> {
    stream.on('error', () => {});
    stream.on('end', () => (this.whole = true));
    stream.on('readable', () => void this.drain(stream));
    if (!stream.readableEnded && !stream.destroyed) await once(stream, 'close').catch(() => {});
  }

  /** Not all of it is here: there was more than is kept, or the stream broke off before its end. */
  get truncated(): boolean {
    return this.cut || !this.whole;
  }

  /** Whole characters only. */
  text(): string {
    return new StringDecoder('utf8').write(Buffer.concat(this.chunks));
  }

  private async drain(stream: Readable): Promise<void> {
    for (let chunk = stream.read() as Buffer | null; chunk !== null; chunk = stream.read() as Buffer | null) {
      const kept = chunk.subarray(0, MAX_OUTPUT - this.size);
      if (kept.length > 0) this.chunks.push(Buffer.from(kept));
      this.size += kept.length;
      if (kept.length === chunk.length) continue;
      this.cut = true;
      await delay(2);
    }
  }
}
