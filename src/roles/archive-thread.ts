import { parentPort, workerData } from 'node:worker_threads';
import { DirectPath } from '../drivers/engine/direct-path.js';
import { createEngine } from '../drivers/engine/engine.factory.js';
import { createBlobStore } from '../drivers/objects/blob-store.factory.js';
import { StreamingArchiver } from '../modules/servers/backups/lifecycle/streaming-archiver.js';
import type { ArchiveJob, ArchiveOrder, ArchiveOutcome, ArchiveParts, ErrorCopy } from './threaded-archiver.js';

const parts = workerData as ArchiveParts;
const direct = DirectPath.for(parts.engine.url, parts.socketDir);
const archiver = new StreamingArchiver(createEngine(parts.engine), await createBlobStore(parts.objects), direct);
const abort = new AbortController();

/** What runs in a thread of the threaded archiver: one job, of which the outcome is told. */
async function work(job: ArchiveJob): Promise<ArchiveOutcome> {
  try {
    return { done: await carry(job, abort.signal) };
  } catch (error) {
    return { failed: copyOf(error) };
  }
}

async function carry(job: ArchiveJob, signal: AbortSignal): Promise<unknown> {
  if (job.what === 'pack') return archiver.pack(job, signal, Promise.resolve());
  if (job.what === 'verify') return archiver.verify(job.archive, signal);
  return archiver.unpack(job.workshop, job.archive, signal);
}

function copyOf(thrown: unknown): ErrorCopy {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const { message, stack, code, detail } = error as Error & { code?: string | number; detail?: string };
  return { message, stack, code, detail, cause: error.cause === undefined ? undefined : copyOf(error.cause) };
}

parentPort!.on('message', (order: ArchiveOrder) => {
  if (order === 'abort') abort.abort();
  else void work(order).then((outcome) => parentPort!.postMessage(outcome));
});
