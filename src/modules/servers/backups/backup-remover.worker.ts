import { Injectable } from '@nestjs/common';
import { In, LessThanOrEqual } from 'typeorm';
import { BlobStore } from '../../../drivers/objects/blob-store.js';
import { removeBlobs } from '../../../drivers/objects/remove-blobs.js';
import { RecurringWorker } from '../../../platform/background/recurring-worker.js';
import { Database } from '../../../platform/database/database.js';
import { AppLogger } from '../../../platform/observability/logger.js';
import { OperationsService } from '../../../platform/operations/operations.service.js';
import { BlobOwners } from '../../blobs/blob-owners.service.js';
import { Backup } from './backup.entity.js';
import { BACKUP_LANE, type BackupPayload } from './backup.operations.js';

const INTERVAL_MS = 2000;
const BATCH = 50;
/** What cannot be removed is tried again after that, behind all others. */
const LATER_MS = 60_000;
const LOCK = 'berth:remove-backups';

/** Removes the archives of deleted backups, each before its row: until then the row owns it. */
@Injectable()
export class BackupRemoverWorker extends RecurringWorker {
  constructor(
    private readonly database: Database,
    private readonly operations: OperationsService,
    private readonly blobs: BlobStore,
    log: AppLogger,
    owners: BlobOwners,
  ) {
    super({ what: 'removal of deleted backups', everyMs: INTERVAL_MS }, log);
    owners.register((blobIds) => this.owned(blobIds));
  }

  protected turn(): Promise<unknown> {
    return this.database.exclusively(LOCK, () => this.removeDeleted(new Date()));
  }

  /** All backups of a service that is being deleted, of which no operation is under way any more. */
  async removeAll(serverId: string): Promise<void> {
    for (const backup of await this.database.manager.findBy(Backup, { serverId })) await this.remove(backup);
  }

  private async removeDeleted(now: Date): Promise<void> {
    const { manager } = this.database;
    const rows = await manager.find(Backup, {
      where: { deletedAt: LessThanOrEqual(now) },
      order: { deletedAt: 'ASC' },
      take: BATCH,
    });
    const idle: Backup[] = [];
    for (const backup of rows) if (!(await this.isBeingMade(backup))) idle.push(backup);
    const archives = idle.flatMap(({ blobId, status }) =>
      blobId === null ? [] : { blobId, whole: status === 'READY' },
    );
    const left = await removeBlobs(this.blobs, archives, this.log);
    const isLeft = ({ blobId }: Backup): boolean => left.has(blobId ?? '');
    const idsOf = (backups: Backup[]) => ({ id: In(backups.map(({ id }) => id)) });
    await manager.delete(Backup, idsOf(idle.filter((backup) => !isLeft(backup))));
    if (left.size > 0) {
      await manager.update(Backup, idsOf(idle.filter(isLeft)), { deletedAt: new Date(+now + LATER_MS) });
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
