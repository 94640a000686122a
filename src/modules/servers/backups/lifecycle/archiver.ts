import { OperationFailed } from '../../../../platform/operations/operation-handler.js';

/** An archive in the object store, and the hash of what was stored. */
export interface StoredArchive {
  blobId: string | null;
  checksum: string | null;
}

/** What an archive is made of, and where it goes. */
export interface PackJob {
  workshop: string;
  blobId: string;
  /** An archive of more bytes than these fails with `backup_too_large` ... */
  atMost: number;
  /** ... and so does one that comes to more unpacked. */
  atMostUnpacked: number;
}

/**
 * Files that share their data on the disk are whole in an archive, each of them: of a few blocks there may be no end, and where
 * it is compressed to nothing, it is only time that it takes.
 */
export function tooLarge(): OperationFailed {
  const detail = 'The archive of the data would be larger than the disk of the service.';
  return new OperationFailed('backup_too_large', detail);
}

export interface WrittenArchive {
  size: number;
  /** In hexadecimal. */
  sha256: string;
}

/**
 * Carries the bytes of archives between workshops and the object store. What the account can be told about fails with
 * `OperationFailed`; after `signal` has aborted, its reason is what it fails with.
 */
export abstract class Archiver {
  /** Puts an archive of the workshop's volume into the object store, as soon as the workshop is open. */
  abstract pack(job: PackJob, signal: AbortSignal, opened: Promise<unknown>): Promise<WrittenArchive>;
  /** Reads the whole archive; fails when it is not what was stored. */
  abstract verify(archive: StoredArchive, signal: AbortSignal): Promise<void>;
  /** Unpacks an archive into the workshop's volume, and has it on the disk when this resolves. */
  abstract unpack(workshop: string, archive: StoredArchive, signal: AbortSignal): Promise<void>;
}
