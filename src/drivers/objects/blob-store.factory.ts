import { fileURLToPath } from 'node:url';
import type { BlobStore } from './blob-store.js';
import { LocalBlobStore } from './local/local-blob-store.js';

export interface BlobStoreOptions {
  url: string;
}

/** `file:/path` is a folder of this machine. */
export function createBlobStore({ url }: BlobStoreOptions): BlobStore {
  if (url.startsWith('file:/')) return new LocalBlobStore(fileURLToPath(url));
  throw new Error('The address of the object store is file:/path');
}
