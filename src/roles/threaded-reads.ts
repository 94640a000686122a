import type { FilePart } from '../drivers/objects/local/read-part.js';
import { Batcher } from '../platform/batching/batcher.js';
import { ServingThread } from './serving-thread.js';

export type ReadOutcome =
  { bytes: Uint8Array<ArrayBuffer> } | { failed: { message: string; code: string | undefined } };

type ReadThread = ServingThread<FilePart[], ReadOutcome[]>;

/** As many threads at most: each waits for the disk by itself. */
const THREADS = 2;
const BATCH = 16;

/**
 * Has small reads done by threads of their own, those of one moment in one go: opening, reading and closing a file that is in
 * memory takes less than one of the trips to the runtime's pool that each of these steps costs otherwise.
 */
export class ThreadedReads {
  private readonly idle: ReadThread[] = [];
  private readonly batches = new Batcher<FilePart, ReadOutcome>((parts) => this.run(parts), {
    items: BATCH,
    atOnce: THREADS,
  });

  async read(part: FilePart): Promise<Buffer> {
    const outcome = await this.batches.add(part);
    if ('failed' in outcome) throw Object.assign(new Error(outcome.failed.message), { code: outcome.failed.code });
    const { buffer, byteOffset, byteLength } = outcome.bytes;
    return Buffer.from(buffer, byteOffset, byteLength);
  }

  async close(): Promise<void> {
    await Promise.all(this.idle.splice(0).map((thread) => thread.end()));
  }

  private async run(parts: FilePart[]): Promise<ReadOutcome[]> {
    const thread = this.idle.pop() ?? readThread();
    try {
      const outcomes = await thread.ask(parts);
      this.idle.push(thread);
      return outcomes;
    } catch (error) {
      await thread.end();
      throw error;
    }
  }
}

function readThread(): ReadThread {
  return new ServingThread(new URL('./read-thread.js', import.meta.url), 'small reads');
}
