import { Injectable } from '@nestjs/common';
import pLimit from 'p-limit';
import { In, LessThan } from 'typeorm';
import { BlobStore } from '../../drivers/objects/blob-store.js';
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
const AT_ONCE = 16;
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
      await this.giveUpSilent(new Date());
      await this.removeDiscarded();
    });
  }

  async removeDiscarded(): Promise<void> {
    while (!this.stopped) {
      const rows = await this.database.manager.find(DiscardedBlob, { order: { discardedAt: 'ASC' }, take: BATCH });
      if (rows.length === 0) return;
      await this.removeAll(rows);
      await this.database.manager.delete(DiscardedBlob, { blobId: In(rows.map(({ blobId }) => blobId)) });
    }
  }

  async removeAll(blobs: Pick<DiscardedBlob, 'blobId' | 'whole'>[]): Promise<void> {
    const slots = pLimit(AT_ONCE);
    await Promise.all(blobs.map(({ blobId, whole }) => slots(() => this.blobs.delete(blobId, { whole }))));
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
