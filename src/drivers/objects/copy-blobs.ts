import { BlobError, type BlobStore } from './blob-store.js';

const AT_ONCE = 8;

export interface CopyResult {
  copied: number;
  /** What the target had already. */
  present: number;
  bytes: number;
}

/**
 * Copies what the target does not have. Blobs never change and come into a store whole, so what is there is right: this may
 * be broken off at any point and begun again. What is removed from the source meanwhile is left out, or is swept in the
 * target as nobody owns it.
 */
export async function copyBlobs(
  source: BlobStore,
  target: BlobStore,
  progress?: (lookedAt: number) => void,
): Promise<CopyResult> {
  await Promise.all([source.check(), target.check()]);
  const result: CopyResult = { copied: 0, present: 0, bytes: 0 };
  const blobs = source.list()[Symbol.asyncIterator]();
  const next = inTurn(() => blobs.next());
  const work = async (): Promise<void> => {
    for (let entry = await next(); !entry.done; entry = await next()) {
      await copyOne(source, target, entry.value.blobId, result);
      progress?.(result.copied + result.present);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return result;
}

async function copyOne(source: BlobStore, target: BlobStore, blobId: string, result: CopyResult): Promise<void> {
  const size = await sizeIn(source, blobId);
  // One that is being written, or was removed: nobody misses it yet.
  if (size === null) return;
  if ((await sizeIn(target, blobId)) === size) {
    result.present++;
    return;
  }
  const stored = await target.put(blobId, await source.get(blobId), { size });
  if (stored.size !== size) throw new BlobError('unavailable', `The blob ${blobId} could not be read whole`);
  result.copied++;
  result.bytes += size;
}

async function sizeIn(store: BlobStore, blobId: string): Promise<number | null> {
  try {
    return (await store.stat(blobId)).size;
  } catch (error) {
    if (error instanceof BlobError && error.code === 'not_found') return null;
    throw error;
  }
}

/** The calls of those who work side by side, one after the other. */
function inTurn<T>(call: () => Promise<T>): () => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return () => {
    const mine = last.then(call, call);
    last = mine.catch(() => undefined);
    return mine;
  };
}
