import { parentPort, workerData } from 'node:worker_threads';
import { fileURLToPath } from 'node:url';
import type { BlobStoreOptions } from '../drivers/objects/blob-store.factory.js';
import { BlobError, type BlobStore } from '../drivers/objects/blob-store.js';
import { LocalBlobStore } from '../drivers/objects/local/local-blob-store.js';
import { ArchiveError } from '../modules/pages/archive/archive-error.js';
import { Packing } from '../modules/pages/archive/pack.js';
import type { PackJob, PackOutcome } from './threaded-packer.js';

/** What runs in a thread of the threaded packer: one archive, of which the outcome is told. */
async function work({ fd, blobId, limits, objects }: PackJob): Promise<PackOutcome> {
  try {
    const packing = new Packing(fd, limits);
    await (await storeOf(objects)).put(blobId, packing.chunks());
    return { done: packing.summary() };
  } catch (error) {
    if (error instanceof ArchiveError) return { refused: { code: error.code, detail: error.detail } };
    const { message, stack } = error as Error;
    return { failed: { message, stack, store: error instanceof BlobError ? error.code : undefined } };
  }
}

/** The way to S3 is read only where it is gone: it takes longer to load than most archives to unpack. */
async function storeOf(options: BlobStoreOptions): Promise<BlobStore> {
  if (options.url.startsWith('file:/')) return new LocalBlobStore(fileURLToPath(options.url));
  const { createBlobStore } = await import('../drivers/objects/blob-store.factory.js');
  return createBlobStore(options);
}

parentPort!.postMessage(await work(workerData as PackJob));
