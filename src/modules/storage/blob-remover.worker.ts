import { Injectable } from '@nestjs/common';
import { In, LessThan, LessThanOrEqual } from 'typeorm';
import { BlobStore } from '../../drivers/objects/blob-store.js';
import { removeBlobs } from '../../drivers/objects/remove-blobs.js';
import { RecurringWorker } from '../../platform/background/recurring-worker.js';
import { Database } from '../../platform/database/database.js';
import { AppLogger } from '../../platform/observability/logger.js';
import { BlobOwners } from '../blobs/blob-owners.service.js';
import { DiscardedBlob } from './objects/discarded-blob.entity.js';
import { ObjectUpload } from './objects/object-upload.entity.js';
import { ObjectRepository } from './objects/object.repository.js';
import { StoredObject } from './objects/stored-object.entity.js';

const INTERVAL_MS = 2000;
const BATCH = 500;
/** What cannot be removed is tried again after that, behind all others. */
const LATER_MS = 60_000;
/** Whoever writes says every ten seconds that it is alive. */
const SILENCE_MS = 60_000;
const LOCK = 'berth:remove-blobs';

/** Removes the blobs that objects have left behind, and gives up uploads whose process has died. */
@Injectable()
export class BlobRemoverWorker extends RecurringWorker {
  constructor(
    private readonly database: Database,
    private readonly objects: ObjectRepository,
    private readonly blobs: BlobStore,
    log: AppLogger,
    owners: BlobOwners,
  ) {
    super({ what: 'removal of blobs that no object has', everyMs: INTERVAL_MS }, log);
    owners.register((blobIds) => this.owned(blobIds));
  }

  protected turn(): Promise<unknown> {
    return this.database.exclusively(LOCK, async () => {
      const now = new Date();
      await this.giveUpSilent(now);
      await this.removeDiscarded(now);
    });
  }

  async removeDiscarded(now: Date): Promise<void> {
    const { manager } = this.database;
    const due = { where: { discardedAt: LessThanOrEqual(now) }, order: { discardedAt: 'ASC' }, take: BATCH } as const;
    while (!this.stopped) {
      const rows = await manager.find(DiscardedBlob, due);
      if (rows.length === 0) return;
      const left = await removeBlobs(this.blobs, rows, this.log);
      const gone = rows.map(({ blobId }) => blobId).filter((blobId) => !left.has(blobId));
      await manager.delete(DiscardedBlob, { blobId: In(gone) });
      const later = { discardedAt: new Date(+now + LATER_MS) };
      if (left.size > 0) await manager.update(DiscardedBlob, { blobId: In([...left]) }, later);
      // The store is away: the next turn tells.
      if (gone.length === 0) return;
    }
  }

  /** What they were to become is not there, and the room they held is free again. */
  async giveUpSilent(now: Date): Promise<void> {
    const seenAt = LessThan(new Date(now.getTime() - SILENCE_MS));
    for (const { blobId } of await this.database.manager.find(ObjectUpload, { where: { seenAt }, take: BATCH })) {
      await this.database.transaction(async (tx) => {
        const { affected } = await tx.manager.delete(ObjectUpload, { blobId, seenAt });
        if (affected === 1) await this.objects.discard(tx, blobId, { whole: false });
      });
    }
  }

  private async owned(blobIds: string[]): Promise<string[]> {
    const among = { select: { blobId: true }, where: { blobId: In(blobIds) } } as const;
    const rows = await Promise.all([
      this.database.manager.find(StoredObject, among),
      this.database.manager.find(ObjectUpload, among),
    ]);
    return rows.flat().map(({ blobId }) => blobId);
  }
}
