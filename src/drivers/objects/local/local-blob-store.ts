import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, open, opendir, readdir, rename, stat, unlink, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import {
  BlobError,
  BlobStore,
  checkBlobId,
  type BlobEntry,
  type BlobStat,
  type ByteRange,
  type PutHint,
  type StoredBlob,
} from '../blob-store.js';
import { FileReader } from './file-reader.js';
import { BLOB_FLAGS, readInPool, type ReadPart } from './read-part.js';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = constants;
const READ_BYTES = 256 * 1024;
/** Of each of two buffers. */
const WRITE_BYTES = 512 * 1024;
const SHARD = /^[0-9a-f]{2}$/;
/** `<id>` is a blob, `<id>.<random>.part` is one that is being written, or was when its writer died. */
const NAME = /^([0-9a-f]{32})(\.[0-9a-f]{16}\.part)?$/;

/**
 * Blobs as files below one folder, `ab/cd/<id>`. A blob is written under another name, brought to the disk and only then
 * given its own, and each writer has a name to itself: a writer that was given up for dead can at worst fail.
 */
export class LocalBlobStore extends BlobStore {
  /** `readPart` reads what is small, where another way than the usual one is wanted. */
  constructor(
    private readonly root: string,
    private readonly readPart: ReadPart = readInPool,
  ) {
    super();
  }

  override memoryOf(size = WRITE_BYTES): number {
    return 2 * Math.min(size, WRITE_BYTES);
  }

  override async put(blobId: string, source: AsyncIterable<Uint8Array>, { size }: PutHint = {}): Promise<StoredBlob> {
    const file = this.fileOf(blobId);
    const draft = `${file}.${randomBytes(8).toString('hex')}.part`;
    const handle = await asBlobError(async () => {
      await this.makeFolder(dirname(file));
      return open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    });
    try {
      const written = await fill(handle, source, Math.min(WRITE_BYTES, Math.max(1, size ?? WRITE_BYTES)));
      await asBlobError(async () => {
        await rename(draft, file);
        await syncFolder(dirname(file));
      });
      return { blobId, ...written };
    } catch (error) {
      await unlink(draft).catch(() => undefined);
      throw error;
    }
  }

  override async get(blobId: string, range?: ByteRange): Promise<Readable> {
    const file = this.fileOf(blobId);
    const handle = await asBlobError(() => open(file, BLOB_FLAGS));
    return handle.createReadStream({ ...range, highWaterMark: READ_BYTES });
  }

  override async open(blobId: string, range: ByteRange): Promise<FileReader> {
    const file = this.fileOf(blobId);
    return new FileReader(await asBlobError(() => open(file, BLOB_FLAGS)), range);
  }

  override async read(blobId: string, { start, end }: ByteRange): Promise<Buffer> {
    const part = { file: this.fileOf(blobId), start, length: end - start + 1 };
    return asBlobError(() => this.readPart(part));
  }

  override async stat(blobId: string): Promise<BlobStat> {
    const { size, mtime } = await asBlobError(() => stat(this.fileOf(blobId)));
    return { size, modifiedAt: mtime };
  }

  override async delete(blobId: string): Promise<void> {
    const folder = dirname(this.fileOf(blobId));
    await asBlobError(async () => {
      const names = (await present(readdir(folder))) ?? [];
      const gone = names.filter((name) => NAME.exec(name)?.[1] === blobId);
      await Promise.all(gone.map((name) => present(unlink(join(folder, name)))));
      if (gone.length > 0) await syncFolder(folder);
    });
  }

  override async *list(): AsyncIterable<BlobEntry> {
    for (const outer of await this.shards(this.root)) {
      for (const inner of await this.shards(outer)) yield* this.entries(inner);
    }
  }

  override async check(): Promise<void> {
    await asBlobError(async () => {
      await this.makeFolder(this.root);
      await access(this.root, constants.R_OK | constants.W_OK | constants.X_OK);
    });
  }

  private async *entries(folder: string): AsyncIterable<BlobEntry> {
    const entries = await asBlobError(() => present(opendir(folder)));
    if (!entries) return;
    for await (const { name } of entries) {
      const [, blobId] = NAME.exec(name) ?? [];
      const found = blobId && (await asBlobError(() => present(stat(join(folder, name)))));
      if (found) yield { blobId, modifiedAt: found.mtime };
    }
  }

  private async shards(folder: string): Promise<string[]> {
    const names = (await asBlobError(() => present(readdir(folder)))) ?? [];
    return names.filter((name) => SHARD.test(name)).map((name) => join(folder, name));
  }

  private fileOf(blobId: string): string {
    checkBlobId(blobId);
    return join(this.root, blobId.slice(0, 2), blobId.slice(2, 4), blobId);
  }

  /** With the entries that lead to it on the disk, or a blob would be lost with its folder in a power cut. */
  private async makeFolder(folder: string): Promise<void> {
    const first = await mkdir(folder, { recursive: true, mode: 0o700 });
    if (first === undefined) return;
    for (let made = folder; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made));
  }
}

/**
 * Writes all of `source`, brings it to the disk and closes the file, whatever happens. Many small pieces become few large
 * writes, and while one of two buffers is written the other one is filled.
 */
async function fill(
  handle: FileHandle,
  source: AsyncIterable<Uint8Array>,
  bufferBytes: number,
): Promise<{ size: number; sha256: string }> {
  const hash = createHash('sha256');
  let [filling, other] = [Buffer.allocUnsafeSlow(bufferBytes), Buffer.allocUnsafeSlow(bufferBytes)];
  let [size, filled] = [0, 0];
  let writing: Promise<void> = Promise.resolve();
  const write = async () => {
    const full = filling.subarray(0, filled);
    await writing;
    writing = asBlobError(() => writeAll(handle, full));
    // What goes wrong is heard where it is waited for.
    writing.catch(() => {});
    hash.update(full);
    [filling, other, filled] = [other, filling, 0];
  };
  try {
    for await (const chunk of source) {
      size += chunk.length;
      for (let at = 0; at < chunk.length;) {
        const end = Math.min(chunk.length, at + filling.length - filled);
        filling.set(chunk.subarray(at, end), filled);
        filled += end - at;
        at = end;
        if (filled === filling.length) await write();
      }
    }
    await write();
    await writing;
    await asBlobError(() => handle.sync());
  } finally {
    await handle.close();
  }
  return { size, sha256: hash.digest('hex') };
}

async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.length;) at += (await handle.write(chunk, at)).bytesWritten;
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Null for what is not there. */
async function present<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

const NO_ROOM = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

async function asBlobError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new BlobError('not_found', 'There is no such blob', { cause: error });
    if (NO_ROOM.has(code)) throw new BlobError('full', 'The object store has no room left', { cause: error });
    throw new BlobError('unavailable', `The object store cannot be used: ${code}`, { cause: error });
  }
}
