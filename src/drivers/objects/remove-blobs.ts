import pLimit from 'p-limit';
import type { AppLogger } from '../../platform/observability/logger.js';
import type { BlobStore, DeleteHint } from './blob-store.js';

const AT_ONCE = 16;

export type BlobToRemove = DeleteHint & { blobId: string };

/** Removes what can be removed, and answers with what is still there: one that cannot be holds up none of the others. */
export async function removeBlobs(store: BlobStore, blobs: BlobToRemove[], log: AppLogger): Promise<Set<string>> {
  const slots = pLimit(AT_ONCE);
  const works = blobs.map(({ blobId, whole = false }) => slots(() => store.delete(blobId, { whole })));
  const outcomes = await Promise.allSettled(works);
  const left = blobs.filter((_, index) => outcomes[index]!.status === 'rejected').map(({ blobId }) => blobId);
  if (left.length > 0) {
    const err = outcomes.find((outcome) => outcome.status === 'rejected')!.reason as unknown;
    log.warn({ err, blobIds: left.slice(0, 10), count: left.length }, 'blobs could not be removed yet');
  }
  return new Set(left);
}
