import { Injectable } from '@nestjs/common';
import { IsNull, Not } from 'typeorm';
import { BlobStore } from '../../drivers/objects/blob-store.js';
import { removeBlobs } from '../../drivers/objects/remove-blobs.js';
import { RecurringWorker } from '../../platform/background/recurring-worker.js';
import { Database } from '../../platform/database/database.js';
import { AppLogger } from '../../platform/observability/logger.js';
import { Bucket } from './buckets/bucket.entity.js';
import { ObjectUpload } from './objects/object-upload.entity.js';

const INTERVAL_MS = 2000;
const BATCH = 500;
const LOCK = 'berth:remove-buckets';

/** Empties deleted buckets, a batch at a time: the blobs before the rows that own them, and the bucket's row at the end. */
@Injectable()
export class BucketRemoverWorker extends RecurringWorker {
  constructor(
    private readonly database: Database,
    private readonly blobs: BlobStore,
    log: AppLogger,
  ) {
    super({ what: 'removal of deleted buckets', everyMs: INTERVAL_MS }, log);
  }

  protected turn(): Promise<unknown> {
    return this.database.exclusively(LOCK, () => this.removeDeleted());
  }

  async removeDeleted(): Promise<void> {
    const where = { deletedAt: Not(IsNull()) };
    const buckets = await this.database.manager.find(Bucket, { where, order: { deletedAt: 'ASC' } });
    for (const { id } of buckets) await this.empty(id);
  }

  private async empty(bucketId: string): Promise<void> {
    let after: Buffer = Buffer.alloc(0);
    let all = true;
    while (!this.stopped) {
      const rows = await this.database.manager.query<{ key: Buffer; blobId: string }[]>(
        `SELECT object_key AS \`key\`, blob_id AS blobId FROM bucket_objects
          WHERE bucket_id = ? AND object_key > ? ORDER BY object_key LIMIT ${BATCH}`,
        [bucketId, after],
      );
      if (rows.length === 0) break;
      const blobs = rows.map(({ blobId }) => ({ blobId, whole: true }));
      const left = await removeBlobs(this.blobs, blobs, this.log);
      // What is still there the next turn tries again, and when it is all, the store is away.
      if (left.size === rows.length) return;
      if (left.size > 0) all = false;
      const last = rows.at(-1)!.key;
      // Nothing is added to a deleted bucket, so all up to the last one are those that were to be removed.
      await this.database.manager.query(
        `DELETE FROM bucket_objects
          WHERE bucket_id = ? AND object_key > ? AND object_key <= ? AND blob_id NOT IN (?)`,
        [bucketId, after, last, ['', ...left]],
      );
      after = last;
    }
    if (all && !this.stopped) await this.removeRow(bucketId);
  }

  /** Uploads that were under way end by themselves, or are given up; until then the next turn tries again. */
  private async removeRow(id: string): Promise<void> {
    if (await this.database.manager.existsBy(ObjectUpload, { bucketId: id })) return;
    await this.database.manager.delete(Bucket, { id });
  }
}
