import { Worker } from 'node:worker_threads';
import type { EngineOptions } from '../drivers/engine/engine.factory.js';
import type { BlobStoreOptions } from '../drivers/objects/blob-store.factory.js';
import {
  Archiver,
  type PackJob,
  type StoredArchive,
  type WrittenArchive,
} from '../modules/servers/backups/lifecycle/archiver.js';
import { OperationFailed } from '../platform/operations/operation-handler.js';

export interface ArchiveParts {
  engine: EngineOptions;
  objects: BlobStoreOptions;
  /** For the direct path to workshops. */
  socketDir: string | undefined;
}

/** What a thread is to do, but for the signal. */
export type ArchiveJob =
  | ({ what: 'pack' } & PackJob)
  | { what: 'verify'; archive: StoredArchive }
  | { what: 'unpack'; workshop: string; archive: StoredArchive };

/** What of an error reaches another thread. */
export interface ErrorCopy {
  message: string;
  stack: string | undefined;
  code: unknown;
  detail: unknown;
  cause: ErrorCopy | undefined;
}

export type ArchiveOutcome = { done: unknown } | { failed: ErrorCopy };

/**
 * Buffers are freed with the small objects that stand for them. With little room for these that is soon; with much of it the
 * buffers would pile up until all that lives in the thread is searched.
 */
const YOUNG_MB = 2;

/** What a thread is told: its one job, or to give up. */
export type ArchiveOrder = ArchiveJob | 'abort';

/**
 * Has each archive carried by a thread of its own, which ends with it: its bytes make much garbage, the cost of which grows
 * with everything else that lives in a thread, and hashing them would hold up whatever else this process does. A thread that
 * dies fails the job.
 */
export class ThreadedArchiver extends Archiver {
  constructor(private readonly parts: ArchiveParts) {
    super();
  }

  /** The thread starts while the workshop opens. */
  override pack(job: PackJob, signal: AbortSignal, opened: Promise<unknown>): Promise<WrittenArchive> {
    return this.run({ what: 'pack', ...job }, signal, opened) as Promise<WrittenArchive>;
  }

  override async verify({ blobId, checksum }: StoredArchive, signal: AbortSignal): Promise<void> {
    await this.run({ what: 'verify', archive: { blobId, checksum } }, signal);
  }

  override async unpack(workshop: string, { blobId, checksum }: StoredArchive, signal: AbortSignal): Promise<void> {
    await this.run({ what: 'unpack', workshop, archive: { blobId, checksum } }, signal);
  }

  private async run(
    job: ArchiveJob,
    signal: AbortSignal,
    ready: Promise<unknown> = Promise.resolve(),
  ): Promise<unknown> {
    signal.throwIfAborted();
    const thread = new Worker(new URL('./archive-thread.js', import.meta.url), {
      workerData: this.parts,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    });
    const tell = (order: ArchiveOrder) => thread.postMessage(order);
    const abort = () => tell('abort');
    signal.addEventListener('abort', abort, { once: true });
    try {
      const ended = outcomeOf(thread);
      ended.catch(() => undefined); // It may come when nobody asks any more.
      await Promise.race([ready, ended]);
      tell(job);
      const outcome = await ended.finally(() => signal.throwIfAborted());
      if ('done' in outcome) return outcome.done;
      throw errorOf(outcome.failed);
    } finally {
      signal.removeEventListener('abort', abort);
      await thread.terminate();
    }
  }
}

function outcomeOf(thread: Worker): Promise<ArchiveOutcome> {
  return new Promise((resolve, reject) => {
    thread.once('message', resolve);
    thread.once('error', reject);
    thread.once('exit', (code) => reject(new Error(`The thread of an archive ended with ${code} before it was done`)));
  });
}

/** With its code, by which others tell what it is. */
function errorOf({ message, stack, code, detail, cause }: ErrorCopy): Error {
  const options = cause && { cause: errorOf(cause) };
  if (typeof code === 'string' && typeof detail === 'string') return new OperationFailed(code, detail, options);
  return Object.assign(new Error(message, options), { stack }, code !== undefined && { code });
}
