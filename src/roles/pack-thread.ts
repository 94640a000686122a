import { parentPort, workerData } from 'node:worker_threads';
import { createBlobStore } from '../drivers/objects/blob-store.factory.js';
import { BlobError } from '../drivers/objects/blob-store.js';
import { ArchiveError } from '../modules/pages/archive/archive-error.js';
import { Packing } from '../modules/pages/archive/pack.js';
import type { PackJob, PackOutcome } from './threaded-packer.js';

/** What runs in a thread of the threaded packer: one archive, of which the outcome is told. */
async function work({ fd, blobId, limits, objects }: PackJob): Promise<PackOutcome> {
  try {
    const packing = new Packing(fd, limits);
    const store = await createBlobStore(objects);
    await store.put(blobId, packing.chunks());
    return { done: packing.summary() };
  } catch (error) {
    if (error instanceof ArchiveError) return { refused: { code: error.code, detail: error.detail } };
    const { message, stack } = error as Error;
    return { failed: { message, stack, store: error instanceof BlobError ? error.code : undefined } };
  }
}

parentPort!.postMessage(await work(workerData as PackJob));
