import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';

/**
 * The port to the object store: immutable blobs under ids of our own making. A blob is there whole or not at all, whatever
 * happened while it was written. Who keeps a blob notes its id first, so that nothing is ever in the store without an
 * owner for longer than it takes to sweep.
 *
 * A store that cannot be reached fails with `BlobError('unavailable')`.
 */
export abstract class BlobStore {
  /** An id for a blob that is about to be put: 128 random bits, so that it tells nothing and is never used twice. */
  newId(): string {
    return randomBytes(16).toString('hex');
  }

  /** How many bytes of memory a `put` takes at most, of a blob of that size or of an unknown one. */
  abstract memoryOf(size: number | undefined): number;
  /**
   * Takes a blob in as its bytes come, and counts and hashes them on the way. When `source` fails, that error comes through
   * and nothing is kept; `BlobError('full')` when there is no room for it. A piece may be overwritten once the next one is
   * asked for.
   */
  abstract put(blobId: string, source: AsyncIterable<Uint8Array>, hint?: PutHint): Promise<StoredBlob>;
  /** The bytes of the blob, or those of a range; `BlobError('not_found')` when there is none. */
  abstract get(blobId: string, range?: ByteRange): Promise<Readable>;
  /** The same, for who reads it into memory of their own. Close it in any case. */
  abstract open(blobId: string, range: ByteRange): Promise<BlobReader>;
  /** The same at once, for what is small. */
  abstract read(blobId: string, range: ByteRange): Promise<Buffer>;
  abstract stat(blobId: string): Promise<BlobStat>;
  /** Removes the blob, and what an unfinished `put` of that id has left. Idempotent. */
  abstract delete(blobId: string, hint?: DeleteHint): Promise<void>;
  /**
   * All there is, in no order: for finding what nobody owns. Unfinished ones are among them where they take up room until
   * somebody deletes them.
   */
  abstract list(): AsyncIterable<BlobEntry>;
  /** Resolves when the store can be used. */
  abstract check(): Promise<void>;
}

/** The bytes of a blob, as fast as they are asked for. */
export abstract class BlobReader {
  /**
   * Fills the front of `into`, and answers with how many bytes came; 0 at the end. It is not asked again before it has answered.
   */
  abstract read(into: Buffer): Promise<number>;
  /** False once the blob has been deleted, and takes up its room only because it is read. */
  abstract stillThere(): Promise<boolean>;
  /** A `read` under way may still come to its end, or fail. */
  abstract close(): Promise<void>;
}

export interface PutHint {
  /**
   * How many bytes are to come, or how many at most, where that is known. They decide how much memory a piece on its way
   * takes, and nothing else; a store that takes a blob in a limited number of pieces may refuse what is much larger.
   */
  size?: number | undefined;
}

export interface DeleteHint {
  /** Its `put` came to its end: nothing unfinished needs to be looked for. */
  whole?: boolean;
}

export interface StoredBlob {
  blobId: string;
  size: number;
  /** In hexadecimal. */
  sha256: string;
}

/** Both ends belong to it, as in HTTP. */
export interface ByteRange {
  start: number;
  end: number;
}

export interface BlobStat {
  size: number;
  modifiedAt: Date;
}

export interface BlobEntry {
  blobId: string;
  modifiedAt: Date;
}

export type BlobErrorCode = 'unavailable' | 'not_found' | 'full' | 'invalid';

/** A failure of the store. `message` is for operators and logs, never for a response body. */
export class BlobError extends Error {
  constructor(
    readonly code: BlobErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'BlobError';
  }
}

/** Ids become paths and keys, so nothing else than an id comes through. */
export function checkBlobId(blobId: string): void {
  if (!/^[0-9a-f]{32}$/.test(blobId)) throw new BlobError('invalid', 'That is no id of a blob');
}
