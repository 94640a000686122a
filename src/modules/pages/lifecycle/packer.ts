import type { PackSummary } from '../archive/pack.js';
import type { ArchiveLimits } from '../archive/zip-directory.js';

/** Turns archives into packs in the object store, without holding up whatever else this process does. */
export abstract class Packer {
  /**
   * Reads the archive from an open file of this process and puts its pack as a blob; nothing is left of one that fails.
   * `ArchiveError` for an archive that is refused, `BlobError` when the store fails, and the reason of the signal once that is
   * aborted.
   */
  abstract pack(fd: number, blobId: string, limits: ArchiveLimits, signal: AbortSignal): Promise<PackSummary>;
}

/** The archive took longer than any honest one does. */
export class PackingTooSlow extends Error {}
