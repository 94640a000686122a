import { Worker } from 'node:worker_threads';
import type { BlobStoreOptions } from '../drivers/objects/blob-store.factory.js';
import { BlobError, type BlobErrorCode, type BlobStore } from '../drivers/objects/blob-store.js';
import { ArchiveError } from '../modules/pages/archive/archive-error.js';
import type { PackSummary } from '../modules/pages/archive/pack.js';
import type { ArchiveLimits } from '../modules/pages/archive/zip-directory.js';
import { Packer, PackingTooSlow } from '../modules/pages/lifecycle/packer.js';

export interface PackJob {
  /** Of this process: its threads share what it has open. */
  fd: number;
  blobId: string;
  limits: ArchiveLimits;
  objects: BlobStoreOptions;
}

export type PackOutcome =
  | { done: PackSummary }
  | { refused: Pick<ArchiveError, 'code' | 'detail'> }
  | { failed: { message: string; stack: string | undefined; store: BlobErrorCode | undefined } };

const LIMIT_MS = 60_000;
const HEAP = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16 };

/** Has each archive unpacked by a thread of its own, which ends with it, or when it takes too long. */
export class ThreadedPacker extends Packer {
  /** `objects` leads to `blobs`, which no thread can be handed. */
  constructor(
    private readonly objects: BlobStoreOptions,
    private readonly blobs: BlobStore,
  ) {
    super();
  }

  override async pack(fd: number, blobId: string, limits: ArchiveLimits, signal: AbortSignal): Promise<PackSummary> {
    signal.throwIfAborted();
    const job: PackJob = { fd, blobId, limits, objects: this.objects };
    const thread = new Worker(new URL('./pack-thread.js', import.meta.url), { workerData: job, resourceLimits: HEAP });
    try {
      const outcome = await outcomeOf(thread, signal);
      if ('done' in outcome) return outcome.done;
      if ('refused' in outcome) throw new ArchiveError(outcome.refused.code, outcome.refused.detail);
      const { message, stack, store } = outcome.failed;
      throw Object.assign(store ? new BlobError(store, message) : new Error(message), { stack });
    } catch (error) {
      await thread.terminate();
      // A thread that was ended has cleared away nothing.
      await this.blobs.delete(blobId).catch(() => undefined);
      throw error;
    } finally {
      await thread.terminate();
    }
  }
}

function outcomeOf(thread: Worker, signal: AbortSignal): Promise<PackOutcome> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new PackingTooSlow('an archive took too long to unpack')), LIMIT_MS);
    const settle = <T>(how: (value: T) => void) => {
      return (value: T) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
        how(value);
      };
    };
    const abort = () => settle(reject)(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    thread.once('message', settle(resolve));
    thread.once('error', settle(reject));
    const died = settle(reject);
    thread.once('exit', (code) => died(new Error(`The thread of an archive ended with ${code} before it was done`)));
  });
}
