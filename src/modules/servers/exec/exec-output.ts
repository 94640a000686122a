import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { StringDecoder } from 'node:string_decoder';

/** Bytes of UTF-8 that are kept. */
export const MAX_OUTPUT = 1024 * 1024;

export interface KeptOutput {
  text: string;
  bytes: number;
  /** Not all of it is here: there was more than is kept, or the stream broke off before its end. */
  truncated: boolean;
}

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

  /** Whole characters only. Bytes that are no UTF-8 take more room as text than they did before. */
  kept(): KeptOutput {
    const text = new StringDecoder('utf8').write(Buffer.concat(this.chunks));
    const { read, written } = new TextEncoder().encodeInto(text, new Uint8Array(MAX_OUTPUT));
    return { text: text.slice(0, read), bytes: written, truncated: this.cut || !this.whole || read < text.length };
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
