import { Injectable } from '@nestjs/common';
import { BlobStore } from '../../drivers/objects/blob-store.js';
import { removeBlobs } from '../../drivers/objects/remove-blobs.js';
import { Database } from '../../platform/database/database.js';
import { RecurringWorker } from '../../platform/background/recurring-worker.js';
import { AppLogger } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { BlobOwners } from './blob-owners.service.js';

const INTERVAL_MS = 3_600_000;
const FIRST_MS = 60_000;
/** What is younger may be on its way to its owner still. */
const GRACE_MS = 24 * 3_600_000;
const BATCH = 500;
const LOCK = 'berth:sweep-blobs';

/** Removes what nobody owns from the object store: what was being written when its writer died, above all. */
@Injectable()
export class BlobSweeperWorker extends RecurringWorker {
  private readonly removed;

  constructor(
    private readonly database: Database,
    private readonly blobs: BlobStore,
    private readonly owners: BlobOwners,
    log: AppLogger,
    metrics: Metrics,
  ) {
    super({ what: 'sweep of the object store', everyMs: INTERVAL_MS, firstMs: FIRST_MS }, log);
    this.removed = metrics.counter('berth_orphan_blobs_removed_total', 'Blobs without an owner that were removed', []);
  }

  protected turn(): Promise<unknown> {
    return this.database.exclusively(LOCK, () => this.sweep(new Date()));
  }

  /** One pass. */
  async sweep(now: Date): Promise<void> {
    let batch: string[] = [];
    for await (const { blobId, modifiedAt } of this.blobs.list()) {
      if (this.stopped) return;
      if (now.getTime() - modifiedAt.getTime() < GRACE_MS) continue;
      batch.push(blobId);
      if (batch.length < BATCH) continue;
      await this.removeOrphans(batch);
      batch = [];
    }
    await this.removeOrphans(batch);
  }

  private async removeOrphans(blobIds: string[]): Promise<void> {
    if (blobIds.length === 0) return;
    const orphans = await this.owners.orphansAmong([...new Set(blobIds)]);
    const blobs = orphans.map((blobId) => ({ blobId }));
    const left = await removeBlobs(this.blobs, blobs, this.log);
    for (const blobId of orphans.filter((orphan) => !left.has(orphan))) {
      this.removed.inc();
      this.log.warn({ blobId }, 'blob removed: nobody owns it');
    }
  }
}
