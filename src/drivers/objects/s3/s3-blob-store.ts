import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  paginateListObjectsV2,
  S3Client,
  type MultipartUpload,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  BlobError,
  BlobStore,
  checkBlobId,
  type BlobEntry,
  type BlobStat,
  type ByteRange,
  type DeleteHint,
  type PutHint,
  type StoredBlob,
} from '../blob-store.js';
import { StreamReader } from './stream-reader.js';

const MIB = 1024 * 1024;
/** What one part of an upload has, so that a blob of any size takes no more memory than three of them. */
const PART_BYTES = 5 * MIB;
const PARTS_AT_ONCE = 2;
const MAX_PARTS = 10_000;
const SOCKETS = 256;
/** More than answers are sent at once, so that what is small is read beside them. */
const READING_SOCKETS = 1280;
const CONNECT_MS = 5000;
/** A store that says nothing for so long is away; a client that takes what it sends slowly may pause it. */
const SILENCE_MS = 120_000;

export interface S3Options {
  bucket: string;
  /** Stands before every id: empty, or ends in a slash. */
  prefix: string;
  region: string;
  /** Of a store that is not Amazon's. */
  endpoint?: string | undefined;
}

interface Place {
  Bucket: string;
  Key: string;
}

/**
 * Blobs in a bucket of an S3 store, under their ids. Credentials are found as the AWS SDK does.
 */
export class S3BlobStore extends BlobStore {
  /** Whoever takes slowly what is read holds a connection; with ones of its own reading holds up nothing else. */
  private readonly reading: S3Client;
  private readonly client: S3Client;

  constructor(private readonly options: S3Options) {
    super();
    this.reading = clientOf(options, READING_SOCKETS);
    this.client = clientOf(options, SOCKETS);
  }

  override memoryOf(size?: number): number {
    const parts = (PARTS_AT_ONCE + 1) * partBytes(size ?? 0);
    return Math.min(2 * (size ?? parts), parts);
  }

  override async put(
    blobId: string,
    source: AsyncIterable<Uint8Array>,
    { size: expected = 0 }: PutHint = {},
  ): Promise<StoredBlob> {
    const hash = createHash('sha256');
    let size = 0;
    let failure: { error: unknown } | undefined;
    const counted = async function* (): AsyncGenerator<Uint8Array> {
      try {
        for await (const chunk of source) {
          size += chunk.length;
          hash.update(chunk);
          // The client holds on to it until a part is full.
          yield Buffer.from(chunk);
        }
      } catch (error) {
        failure = { error };
        throw error;
      }
    };
    const upload = new Upload({
      client: this.client,
      params: { ...this.place(blobId), Body: Readable.from(counted(), { objectMode: false, highWaterMark: MIB }) },
      partSize: partBytes(expected),
      queueSize: PARTS_AT_ONCE,
    });
    try {
      await upload.done();
    } catch (error) {
      throw failure ? failure.error : blobErrorOf(error);
    }
    return { blobId, size, sha256: hash.digest('hex') };
  }

  override async get(blobId: string, range?: ByteRange): Promise<Readable> {
    const Range = range && `bytes=${range.start}-${range.end}`;
    const { Body } = await asBlobError(() =>
      this.reading.send(new GetObjectCommand({ ...this.place(blobId), ...(Range ? { Range } : {}) })),
    );
    if (!(Body instanceof Readable)) throw new BlobError('unavailable', 'The object store answered without a body');
    return Body;
  }

  override async open(blobId: string, range: ByteRange): Promise<StreamReader> {
    return new StreamReader(await this.get(blobId, range));
  }

  override async read(blobId: string, range: ByteRange): Promise<Buffer> {
    const body = await this.get(blobId, range);
    return asBlobError(async () => Buffer.concat((await body.toArray()) as Buffer[]));
  }

  override async stat(blobId: string): Promise<BlobStat> {
    const { ContentLength, LastModified } = await asBlobError(() =>
      this.client.send(new HeadObjectCommand(this.place(blobId))),
    );
    return { size: ContentLength ?? 0, modifiedAt: LastModified ?? new Date(0) };
  }

  override async delete(blobId: string, { whole = false }: DeleteHint = {}): Promise<void> {
    const place = this.place(blobId);
    if (!whole) await this.abortUploads(place);
    await present(() => this.client.send(new DeleteObjectCommand(place)));
  }

  override async *list(): AsyncIterable<BlobEntry> {
    const { bucket: Bucket, prefix: Prefix } = this.options;
    const pages = paginateListObjectsV2({ client: this.client }, { Bucket, Prefix })[Symbol.asyncIterator]();
    for (;;) {
      const page = await asBlobError(() => pages.next());
      if (page.done) break;
      for (const { Key, LastModified } of page.value.Contents ?? []) yield* this.entryOf(Key, LastModified);
    }
    for await (const { Key, Initiated } of this.unfinished(Prefix)) yield* this.entryOf(Key, Initiated);
  }

  override async check(): Promise<void> {
    await asBlobError(() => this.client.send(new HeadBucketCommand({ Bucket: this.options.bucket })));
  }

  private async abortUploads(place: Place): Promise<void> {
    for await (const { Key, UploadId } of this.unfinished(place.Key)) {
      if (Key !== place.Key) continue;
      await present(() => this.client.send(new AbortMultipartUploadCommand({ ...place, UploadId })));
    }
  }

  /** Uploads that were begun, and neither finished nor aborted. */
  private async *unfinished(Prefix: string): AsyncGenerator<MultipartUpload> {
    let from = {};
    for (;;) {
      const command = new ListMultipartUploadsCommand({ Bucket: this.options.bucket, Prefix, ...from });
      const page = await asBlobError(() => this.client.send(command)).catch(unlessRefused);
      yield* page?.Uploads ?? [];
      if (!page?.IsTruncated) return;
      from = { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker };
    }
  }

  private *entryOf(key = '', modifiedAt = new Date(0)): Generator<BlobEntry> {
    const blobId = key.slice(this.options.prefix.length);
    if (/^[0-9a-f]{32}$/.test(blobId)) yield { blobId, modifiedAt };
  }

  private place(blobId: string): Place {
    checkBlobId(blobId);
    return { Bucket: this.options.bucket, Key: `${this.options.prefix}${blobId}` };
  }
}

function partBytes(size: number): number {
  return Math.max(PART_BYTES, Math.ceil(size / MAX_PARTS));
}

function clientOf({ region, endpoint }: S3Options, maxSockets: number): S3Client {
  return new S3Client({
    region,
    ...(endpoint ? { endpoint, forcePathStyle: true } : {}),
    // Many stores that speak S3 do not know the newer checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: 3,
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      socketTimeout: SILENCE_MS,
      httpAgent: { maxSockets },
      httpsAgent: { maxSockets },
    },
  });
}

const NO_ROOM = new Set(['QuotaExceeded', 'InsufficientStorage', 'InsufficientCapacity', 'XMinioStorageFull']);

async function asBlobError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw blobErrorOf(error);
  }
}

/** Null for what is not there. */
async function present<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await asBlobError(work);
  } catch (error) {
    if (error instanceof BlobError && error.code === 'not_found') return null;
    throw error;
  }
}

/** Where a store cannot tell of unfinished uploads, or its owner does not let us ask, the bucket's rule ends them. */
function unlessRefused(error: BlobError): null {
  const { name } = error.cause as { name?: string };
  if (name === 'NotImplemented' || name === 'AccessDenied') return null;
  throw error;
}

/** HEAD answers have no body, and with it no code: the bucket's own absence is told by `check`. */
function blobErrorOf(error: unknown): BlobError {
  if (error instanceof BlobError) return error;
  const { name = '', $metadata } = error as { name?: string; $metadata?: { httpStatusCode?: number } };
  const status = $metadata?.httpStatusCode;
  if (['NoSuchKey', 'NoSuchUpload', 'NotFound'].includes(name)) {
    return new BlobError('not_found', 'There is no such blob', { cause: error });
  }
  if (NO_ROOM.has(name) || status === 507) {
    return new BlobError('full', 'The object store has no room left', { cause: error });
  }
  return new BlobError('unavailable', `The object store cannot be used: ${name} ${status ?? ''}`.trim(), {
    cause: error,
  });
}
