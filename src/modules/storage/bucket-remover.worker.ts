import { Injectable } from '@nestjs/common';
import { IsNull, Not } from 'typeorm';
import { RecurringWorker } from '../../platform/background/recurring-worker.js';
import { Database } from '../../platform/database/database.js';
import { AppLogger } from '../../platform/observability/logger.js';
import { BlobRemoverWorker } from './blob-remover.worker.js';
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
    private readonly remover: BlobRemoverWorker,
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
    while (!this.stopped) {
      const rows = await this.database.manager.query<{ key: Buffer; blobId: string }[]>(
        `SELECT object_key AS \`key\`, blob_id AS blobId FROM bucket_objects
          WHERE bucket_id = ? ORDER BY object_key LIMIT ${BATCH}`,
        [bucketId],
      );
      if (rows.length === 0) return this.removeRow(bucketId);
      await this.remover.removeAll(rows.map(({ blobId }) => ({ blobId, whole: true })));
      // Nothing is added to a deleted bucket, so all up to the last one are those whose blobs are gone.
      await this.database.manager.query('DELETE FROM bucket_objects WHERE bucket_id = ? AND object_key <= ?', [
        bucketId,
        rows.at(-1)!.key,
      ]);
    }
  }

  /** Uploads that were under way end by themselves, or are given up; until then the next turn tries again. */
  private async removeRow(id: string): Promise<void> {
    if (await this.database.manager.existsBy(ObjectUpload, { bucketId: id })) return;
    await this.database.manager.delete(Bucket, { id });
  }
}
