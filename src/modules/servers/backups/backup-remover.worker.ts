import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { In, IsNull, Not } from 'typeorm';
import { BlobStore } from '../../../drivers/objects/blob-store.js';
import { Database } from '../../../platform/database/database.js';
import { AppLogger } from '../../../platform/observability/logger.js';
import { OperationsService } from '../../../platform/operations/operations.service.js';
import { BlobOwners } from '../../blobs/blob-owners.service.js';
import { Backup } from './backup.entity.js';
import { BACKUP_LANE, type BackupPayload } from './backup.operations.js';

const INTERVAL_MS = 2000;
const BATCH = 50;
const LOCK = 'berth:remove-backups';

/** Removes the archives of deleted backups, each before its row: until then the row owns it. */
@Injectable()
export class BackupRemoverWorker implements OnApplicationBootstrap, OnModuleDestroy {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> = Promise.resolve();
  private stopped = false;

  constructor(
    private readonly database: Database,
    private readonly operations: OperationsService,
    private readonly blobs: BlobStore,
    private readonly log: AppLogger,
    owners: BlobOwners,
  ) {
    owners.register((blobIds) => this.owned(blobIds));
  }

  onApplicationBootstrap(): void {
    this.schedule();
  }

  async onModuleDestroy(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.running;
  }

  /** All backups of a service that is being deleted, of which no operation is under way any more. */
  async removeAll(serverId: string): Promise<void> {
    for (const backup of await this.database.manager.findBy(Backup, { serverId })) await this.remove(backup);
  }

  private schedule(): void {
    if (this.stopped) return;
    this.timer = setTimeout(() => {
      this.running = this.removeDeleted().finally(() => this.schedule());
    }, INTERVAL_MS);
  }

  private async removeDeleted(): Promise<void> {
    try {
      await this.database.exclusively(LOCK, async () => {
        const rows = await this.database.manager.find(Backup, {
          where: { deletedAt: Not(IsNull()) },
          order: { deletedAt: 'ASC' },
          take: BATCH,
        });
        for (const backup of rows) if (!(await this.isBeingMade(backup))) await this.remove(backup);
      });
    } catch (error) {
      this.log.warn({ err: error }, 'removal of deleted backups failed; the next try follows');
    }
  }

  /** Its operation was told to end, and clears away what it has made. */
  private async isBeingMade({ id, serverId }: Backup): Promise<boolean> {
    const running = await this.operations.active(this.database, serverId, BACKUP_LANE);
    return running !== null && (running.payload as BackupPayload).backupId === id;
  }

  private async remove({ id, blobId }: Backup): Promise<void> {
    if (blobId !== null) await this.blobs.delete(blobId);
    await this.database.manager.delete(Backup, { id });
  }

  private async owned(blobIds: string[]): Promise<string[]> {
    const rows = await this.database.manager.find(Backup, { select: { blobId: true }, where: { blobId: In(blobIds) } });
    return rows.map(({ blobId }) => blobId!);
  }
}
