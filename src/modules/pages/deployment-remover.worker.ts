import { Injectable } from '@nestjs/common';
import { In, IsNull, LessThan, Not } from 'typeorm';
import { BlobStore } from '../../drivers/objects/blob-store.js';
import { removeBlobs } from '../../drivers/objects/remove-blobs.js';
import { RecurringWorker } from '../../platform/background/recurring-worker.js';
import { Database } from '../../platform/database/database.js';
import { AppLogger } from '../../platform/observability/logger.js';
import { BlobOwners } from '../blobs/blob-owners.service.js';
import { Deployment } from './deployments/deployment.entity.js';
import { DomainClaim } from './domains/domain-claim.entity.js';
import { TOMBSTONE_MS } from './domains/domain-claims.service.js';
import { Site } from './sites/site.entity.js';

const INTERVAL_MS = 2000;
const BATCH = 100;
/** So long pages that were loaded before find what belongs to them; who reads a pack then has some time to come to its end. */
const READERS_MS = 120_000;
/** No archive takes that long: whoever was at it is dead. */
const SILENCE_MS = 300_000;
const LOCK = 'berth:remove-deployments';

/** Removes the packs of deployments that are gone, then their rows, and at the end those of deleted sites. */
@Injectable()
export class DeploymentRemoverWorker extends RecurringWorker {
  constructor(
    private readonly database: Database,
    private readonly blobs: BlobStore,
    log: AppLogger,
    owners: BlobOwners,
  ) {
    super({ what: 'removal of deployments that are gone', everyMs: INTERVAL_MS }, log);
    owners.register((blobIds) => this.owned(blobIds));
  }

  protected turn(): Promise<unknown> {
    return this.database.exclusively(LOCK, () => this.remove(new Date()));
  }

  /** One pass. */
  async remove(now: Date): Promise<void> {
    await this.giveUpSilent(now);
    await this.discardOfDeletedSites(now);
    await this.removeDiscarded(now);
    await this.removeDeletedSites();
    await this.database.manager.delete(DomainClaim, { releasedAt: LessThan(new Date(+now - TOMBSTONE_MS)) });
  }

  private async giveUpSilent(now: Date): Promise<void> {
    const silent = { status: 'PREPARING', createdAt: LessThan(new Date(+now - SILENCE_MS)) } as const;
    await this.database.manager.update(Deployment, { ...silent, discardedAt: IsNull() }, { discardedAt: now });
  }

  private async discardOfDeletedSites(now: Date): Promise<void> {
    await this.database.manager.query(
      `UPDATE deployments d JOIN sites s ON s.id = d.site_id AND s.deleted_at IS NOT NULL
          SET d.discarded_at = ? WHERE d.discarded_at IS NULL AND d.status = 'READY'`,
      [now],
    );
  }

  private async removeDiscarded(now: Date): Promise<void> {
    while (!this.stopped) {
      const rows = await this.database.manager.find(Deployment, {
        select: { id: true, blobId: true, status: true },
        where: { discardedAt: LessThan(new Date(+now - READERS_MS)) },
        order: { discardedAt: 'ASC' },
        take: BATCH,
      });
      if (rows.length === 0) return;
      const blobs = rows.map(({ blobId, status }) => ({ blobId, whole: status === 'READY' }));
      const left = await removeBlobs(this.blobs, blobs, this.log);
      const gone = rows.filter(({ blobId }) => !left.has(blobId)).map(({ id }) => id);
      await this.database.manager.delete(Deployment, { id: In(gone) });
      // It is as if they were discarded now, so they are tried again later, behind all others.
      const later = { discardedAt: now };
      if (left.size > 0) await this.database.manager.update(Deployment, { blobId: In([...left]) }, later);
      // The store is away: the next turn tells.
      if (gone.length === 0) return;
    }
  }

  private async removeDeletedSites(): Promise<void> {
    const sites = await this.database.manager.find(Site, { select: { id: true }, where: { deletedAt: Not(IsNull()) } });
    for (const { id } of sites) {
      if (await this.database.manager.existsBy(Deployment, { siteId: id })) continue;
      await this.database.manager.delete(Site, { id });
    }
  }

  private async owned(blobIds: string[]): Promise<string[]> {
    const rows = await this.database.manager.find(Deployment, {
      select: { blobId: true },
      where: { blobId: In(blobIds) },
    });
    return rows.map(({ blobId }) => blobId);
  }
}
