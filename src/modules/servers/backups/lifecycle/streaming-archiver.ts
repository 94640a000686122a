import { createHash } from 'node:crypto';
import type { DirectPath } from '../../../../drivers/engine/direct-path.js';
import type { Engine } from '../../../../drivers/engine/engine.js';
import { BlobError, type BlobStore } from '../../../../drivers/objects/blob-store.js';
import { OperationFailed } from '../../../../platform/operations/operation-handler.js';
import { Archiver, tooLarge, type PackJob, type StoredArchive, type WrittenArchive } from './archiver.js';
import { ToolFailed, WorkshopTar } from './workshop-tar.js';

/** Streams archives through this thread. */
export class StreamingArchiver extends Archiver {
  private readonly tar: WorkshopTar;

  constructor(
    engine: Engine,
    private readonly blobs: BlobStore,
    direct: DirectPath | null = null,
  ) {
    super();
    this.tar = new WorkshopTar(engine, direct);
  }

  override async pack(
    { workshop, blobId, atMost, atMostUnpacked }: PackJob,
    signal: AbortSignal,
    opened: Promise<unknown>,
  ): Promise<WrittenArchive> {
    await opened;
    try {
      const archive = bounded(this.tar.pack(workshop, atMostUnpacked, signal), atMost);
      const { size, sha256 } = await this.blobs.put(blobId, archive, { size: atMost });
      return { size, sha256 };
    } catch (error) {
      if (error instanceof BlobError && error.code === 'full') {
        throw new OperationFailed('storage_full', 'There is no room for the backup at the moment.', { cause: error });
      }
      throw error;
    }
  }

  override async verify(archive: StoredArchive, signal: AbortSignal): Promise<void> {
    for await (const _ of this.read(archive, signal));
  }

  override async unpack(workshop: string, archive: StoredArchive, signal: AbortSignal): Promise<void> {
    try {
      await this.tar.unpack(workshop, this.read(archive, signal), signal);
    } catch (error) {
      if (!(error instanceof ToolFailed) || !error.isFull) throw error;
      throw new OperationFailed('disk_too_small', 'The data of the backup does not fit on the disk of the service.', {
        cause: error,
      });
    }
  }

  /** The archive's bytes; fails at the end when they are not those that were stored. */
  private async *read({ blobId, checksum }: StoredArchive, signal: AbortSignal): AsyncGenerator<Buffer, void> {
    const hash = createHash('sha256');
    try {
      for await (const chunk of await this.blobs.get(blobId ?? '')) {
        signal.throwIfAborted();
        hash.update(chunk as Buffer);
        yield chunk as Buffer;
      }
    } catch (error) {
      if (!(error instanceof BlobError) || error.code === 'unavailable') throw error;
      throw new OperationFailed('backup_missing', 'The archive is not there any more; nothing was changed.', {
        cause: error,
      });
    }
    if (hash.digest('hex') === checksum) return;
    throw new OperationFailed('backup_damaged', 'The archive is not what was stored; nothing was changed.');
  }
}

async function* bounded(archive: AsyncIterable<Buffer>, atMost: number): AsyncGenerator<Buffer, void> {
  let bytes = 0;
  for await (const chunk of archive) {
    bytes += chunk.length;
    if (bytes > atMost) throw tooLarge();
    yield chunk;
  }
}
