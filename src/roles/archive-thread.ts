import { parentPort, workerData } from 'node:worker_threads';
import { DirectPath } from '../drivers/engine/direct-path.js';
import { createEngine } from '../drivers/engine/engine.factory.js';
import { createBlobStore } from '../drivers/objects/blob-store.factory.js';
import { StreamingArchiver } from '../modules/servers/backups/lifecycle/streaming-archiver.js';
import type { ArchiveJob, ArchiveOutcome, ArchiveParts, ErrorCopy } from './threaded-archiver.js';

/** What runs in a thread of the threaded archiver: one job, of which the outcome is told. */
async function work(): Promise<ArchiveOutcome> {
  const { parts, job } = workerData as { parts: ArchiveParts; job: ArchiveJob };
  const abort = new AbortController();
  // There is but one thing to be told.
  parentPort!.once('message', () => abort.abort());
  const direct = DirectPath.for(parts.engine.url, parts.socketDir);
  const archiver = new StreamingArchiver(createEngine(parts.engine), createBlobStore(parts.objects), direct);
  try {
    return { done: await carry(archiver, job, abort.signal) };
  } catch (error) {
    return { failed: copyOf(error) };
  }
}

async function carry(archiver: StreamingArchiver, job: ArchiveJob, signal: AbortSignal): Promise<unknown> {
  if (job.what === 'pack') return archiver.pack(job.workshop, job.blobId, signal);
  if (job.what === 'verify') return archiver.verify(job.archive, signal);
  return archiver.unpack(job.workshop, job.archive, signal);
}

function copyOf(thrown: unknown): ErrorCopy {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const { message, stack, code, detail } = error as Error & { code?: string | number; detail?: string };
  return { message, stack, code, detail, cause: error.cause === undefined ? undefined : copyOf(error.cause) };
}

parentPort!.postMessage(await work());
