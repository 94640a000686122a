import { Injectable } from '@nestjs/common';
import { IsNull } from 'typeorm';
import { Engine } from '../../../drivers/engine/engine.js';
import { BlobStore } from '../../../drivers/objects/blob-store.js';
import { Database, type Tx } from '../../../platform/database/database.js';
import { EventRecorder, SYSTEM } from '../../../platform/events/event-recorder.js';
import { AppLogger } from '../../../platform/observability/logger.js';
import {
  HandlesOperation,
  OperationHandler,
  type OperationFailure,
  type OperationStep,
  type StepContext,
} from '../../../platform/operations/operation-handler.js';
import { LeaseLost } from '../../../platform/operations/operation-store.js';
import { Operation } from '../../../platform/operations/operation.entity.js';
import { QuotaLock } from '../../accounts/quota-lock.service.js';
import type { Server } from '../server.entity.js';
import { engineName } from '../server.operations.js';
import { ServerRepository } from '../server.repository.js';
import { Backup } from './backup.entity.js';
import { BACKUP_OPERATIONS, copyName, type BackupPayload } from './backup.operations.js';
import { BackupRepository } from './backup.repository.js';
import { Archiver, type PackJob } from './lifecycle/archiver.js';
import { BackupSlots } from './lifecycle/backup-slots.js';
import { Workshop } from './lifecycle/workshop.js';

/** A copy of a full volume needs room to note its new user ids. */
const COPY_HEADROOM_MB = 1024;
const MIB = 1024 * 1024;
/** What an archive has beyond the data: names, owners and times of files, and what compression adds where it saves nothing. */
const ARCHIVE_HEADROOM = { part: 1 / 4, bytes: 64 * MIB };
/** A file of a few bytes, of which the disk has no trace but its name, is 3 KB of an archive. */
const UNPACKED_HEADROOM = { times: 4, bytes: 1024 * MIB };

/** Copies a service's volume at one moment and streams the archive of the copy into the object store. */
@Injectable()
@HandlesOperation(BACKUP_OPERATIONS.create)
export class BackupWorker extends OperationHandler {
  constructor(
    private readonly database: Database,
    private readonly servers: ServerRepository,
    private readonly backups: BackupRepository,
    private readonly quota: QuotaLock,
    private readonly engine: Engine,
    private readonly workshop: Workshop,
    private readonly archiver: Archiver,
    private readonly blobs: BlobStore,
    private readonly events: EventRecorder,
    private readonly atOnce: BackupSlots,
    private readonly log: AppLogger,
  ) {
    super();
  }

  async steps({ resourceId, payload }: Operation): Promise<OperationStep[]> {
    const server = await this.servers.require(resourceId);
    const { backupId } = payload as BackupPayload;
    const aside = copyName(resourceId, backupId);
    return [
      { name: 'copy', run: () => this.copy(server, aside), undo: () => this.workshop.discard(aside) },
      {
        name: 'archive',
        run: (context) => this.archive(server, aside, backupId, context),
        undo: () => this.dropBlob(backupId),
      },
    ];
  }

  async onDone(tx: Tx, operation: Operation): Promise<void> {
    const { backupId, replaces } = operation.payload as BackupPayload;
    const completedAt = new Date();
    await this.servers.lock(tx, operation.resourceId);
    tx.afterCommit(() => this.tidyUp(copyName(operation.resourceId, backupId)));
    await tx.manager.update(Backup, { id: backupId, status: 'CREATING' }, { status: 'READY', completedAt });
    await this.record(tx, operation, 'server:backup.complete');
    if (replaces) await this.makeRoom(tx, operation);
  }

  async onFailed(tx: Tx, operation: Operation, { code }: OperationFailure): Promise<void> {
    await this.fail(tx, operation);
    await this.record(tx, operation, 'server:backup.fail', { code });
  }

  override async onCancelled(tx: Tx, operation: Operation): Promise<void> {
    await this.fail(tx, operation);
  }

  override slots(): BackupSlots {
    return this.atOnce;
  }

  private async copy(server: Server, aside: string): Promise<void> {
    await this.workshop.discard(aside);
    const sizeMb = server.disk + COPY_HEADROOM_MB;
    await this.engine.copyVolume(engineName(server.id), { name: aside, sizeMb, owner: server.id });
  }

  private async archive(server: Server, aside: string, backupId: string, { signal }: StepContext): Promise<void> {
    await this.dropBlob(backupId);
    const blobId = this.blobs.newId();
    await this.write(backupId, null, { blobId });
    const opened = this.workshop.open(aside, server);
    const packed = this.archiver.pack({ workshop: aside, blobId, ...archiveLimits(server) }, signal, opened);
    // A workshop that still opens must not be taken apart.
    await Promise.allSettled([opened, packed]);
    const { size, sha256 } = await packed;
    await this.write(backupId, blobId, { bytes: size, checksum: sha256 });
  }

  /** Holding the service's row. Whoever deleted a backup meanwhile has made the room already. */
  private async makeRoom(tx: Tx, operation: Operation): Promise<void> {
    const { accountId, resourceId, payload } = operation;
    const { backupId } = payload as BackupPayload;
    const limits = await this.quota.peek(tx, accountId);
    if ((await this.backups.count(tx, resourceId)) <= limits.backups) return;
    const oldest = await this.backups.oldestReplaceable(tx, resourceId, backupId);
    if (!oldest) return;
    await this.backups.markDeleted(tx, oldest.id);
    await this.record(tx, operation, 'server:backup.delete', { replacedBy: backupId }, oldest);
  }

  /** After the end, for nobody need wait for it; what cannot be removed now is found by the search for leftovers. */
  private async tidyUp(aside: string): Promise<void> {
    await this.workshop.discard(aside).catch((error: unknown) => {
      this.log.warn({ err: error, name: aside }, 'the copy that a backup was made of is still there');
    });
  }

  /** The row forgets the blob after it is gone, never before. What is complete is not this operation's to drop any more. */
  private async dropBlob(backupId: string): Promise<void> {
    const { blobId, status } = await this.backups.require(backupId);
    if (status !== 'CREATING') throw new LeaseLost();
    if (blobId === null) return;
    await this.blobs.delete(blobId);
    await this.write(backupId, blobId, { blobId: null, bytes: null, checksum: null });
  }

  /** Only while the row has the blob that this attempt knows of: another one was noted by whoever took the operation over. */
  private async write(
    id: string,
    blobId: string | null,
    values: Partial<Pick<Backup, 'blobId' | 'bytes' | 'checksum'>>,
  ): Promise<void> {
    const row = { id, status: 'CREATING' as const, blobId: blobId ?? IsNull() };
    const written = await this.database.manager.update(Backup, row, values);
    if (written.affected !== 1) throw new LeaseLost();
  }

  private async fail(tx: Tx, { payload }: Operation): Promise<void> {
    const { backupId } = payload as BackupPayload;
    await tx.manager.update(Backup, { id: backupId }, { status: 'FAILED', completedAt: new Date() });
  }

  private async record(
    tx: Tx,
    { accountId, resourceId, payload }: Operation,
    event: string,
    more: object = {},
    about?: Backup,
  ): Promise<void> {
    const { backupId } = payload as BackupPayload;
    const { uuid, name, bytes } = about ?? (await tx.manager.findOneByOrFail(Backup, { id: backupId }));
    const properties = { uuid, name, bytes, ...more };
    await this.events.record(tx, { accountId, resourceId, event, properties, ...SYSTEM });
  }
}

/** In bytes: what a full disk's data can come to. */
function archiveLimits({ disk }: Server): Pick<PackJob, 'atMost' | 'atMostUnpacked'> {
  const data = disk * MIB;
  return {
    atMost: Math.ceil(data * (1 + ARCHIVE_HEADROOM.part)) + ARCHIVE_HEADROOM.bytes,
    atMostUnpacked: data * UNPACKED_HEADROOM.times + UNPACKED_HEADROOM.bytes,
  };
}
