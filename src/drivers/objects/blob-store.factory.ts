import { fileURLToPath } from 'node:url';
import type { Config } from '../../config/config.js';
import type { BlobStore } from './blob-store.js';
import { LocalBlobStore } from './local/local-blob-store.js';
import type { ReadPart } from './local/read-part.js';

export interface BlobStoreOptions {
  url: string;
  /** For `s3:` only. */
  s3Region?: string;
  s3Endpoint?: string | undefined;
}

/** How the settings say the store is reached; `url` may name another one, reached in the same way. */
export function blobStoreOptions(config: Config, url = config.require('objectStoreUrl')): BlobStoreOptions {
  const { s3Region, s3Endpoint } = config;
  return { url, s3Region, s3Endpoint };
}

/**
 * `file:/path` is a folder of this machine, `s3://bucket/prefix` a bucket of an S3 store or a part of one. The client of S3 is
 * loaded only where it is used: that takes longer than most of what a thread is made for. `readPart` reads what is small in a
 * folder, where another way than the usual one is wanted.
 */
export async function createBlobStore(options: BlobStoreOptions, readPart?: ReadPart): Promise<BlobStore> {
  const { url, s3Region = 'us-east-1', s3Endpoint } = options;
  if (url.startsWith('file:/')) return new LocalBlobStore(fileURLToPath(url), readPart);
  const [, bucket, path = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([^?#]*))?$/.exec(url) ?? [];
  if (bucket === undefined) throw new Error('The address of the object store is file:/path or s3://bucket/prefix');
  const folder = decodeURIComponent(path).replace(/(?<!\/)\/+$/, '');
  const { S3BlobStore } = await import('./s3/s3-blob-store.js');
  return new S3BlobStore({
    bucket,
    prefix: folder === '' ? '' : `${folder}/`,
    region: s3Region,
    endpoint: s3Endpoint,
  });
}
