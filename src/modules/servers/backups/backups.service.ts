import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database, type Tx } from '../../../platform/database/database.js';
import { conflict, notFound, quotaExceeded, stateConflict } from '../../../platform/errors/domain-error.js';
import { actorOf, EventRecorder, SYSTEM, type NewEvent } from '../../../platform/events/event-recorder.js';
import { decodeCursor, Page, type PageQuery } from '../../../platform/http/page.js';
import { newId } from '../../../platform/ids/id.js';
import type { Operation } from '../../../platform/operations/operation.entity.js';
import { OperationsService } from '../../../platform/operations/operations.service.js';
import { QuotaLock, type PlanLimits } from '../../accounts/quota-lock.service.js';
import type { TaskBackups } from '../schedules/task-ports.js';
import { ServerGate } from '../server-gate.js';
import { MAY_BACK_UP } from '../server-status.js';
import { Server } from '../server.entity.js';
import { ServerRepository } from '../server.repository.js';
import { Backup } from './backup.entity.js';
import { BACKUP_LANE, BACKUP_OPERATIONS, type BackupPayload, type RestorePayload } from './backup.operations.js';
import { BackupRepository } from './backup.repository.js';
import { backupView, type BackupView } from './dto/backup.dto.js';

/** For so long, what a caller fetches of a backup counts as one download. */
const SAME_DOWNLOAD_MS = 5 * 60_000;

type By = Pick<NewEvent, 'actor' | 'ip'>;

/** Making, showing, locking, restoring and deleting the backups of a service. */
@Injectable()
export class BackupsService implements TaskBackups {
  constructor(
    private readonly database: Database,
    private readonly servers: ServerRepository,
    private readonly backups: BackupRepository,
    private readonly quota: QuotaLock,
    private readonly gate: ServerGate,
    private readonly operations: OperationsService,
    private readonly events: EventRecorder,
  ) {}

  async list(caller: Principal, serverId: string, { limit, cursor }: PageQuery): Promise<Page<BackupView>> {
    await this.servers.findOwned(caller.accountId, serverId);
    const before = cursor === undefined ? undefined : (decodeCursor(cursor, ['id'])[0] as string);
    const rows = await this.backups.list(serverId, limit + 1, before);
    return Page.of(rows, limit, ({ id }) => [id]).map(backupView);
  }

  async get(caller: Principal, serverId: string, uuid: string): Promise<BackupView> {
    return backupView(await this.findOwned(caller, serverId, uuid));
  }

  async findOwned(caller: Principal, serverId: string, uuid: string): Promise<Backup> {
    await this.servers.findOwned(caller.accountId, serverId);
    return this.backups.find(this.database, serverId, uuid);
  }

  async create(caller: Principal, serverId: string, name?: string): Promise<BackupView> {
    return this.database.transaction(async (tx) => {
      const limits = await this.quota.acquire(tx, caller.accountId);
      const server = await this.servers.lockOwned(tx, caller.accountId, serverId);
      await this.mustBeFree(tx, server);
      const used = await this.backups.count(tx, serverId);
      if (used >= limits.backups) throw exceeded(limits, used);
      const backup = await this.insert(tx, server, { name, isScheduled: false }, actorOf(caller));
      await this.begin(tx, server, backup, false);
      return backupView(backup);
    });
  }

  /** Starts a backup on a schedule's behalf, in its transaction. Where the plan has no room, it is to take the oldest unlocked one's place. */
  async startScheduled(tx: Tx, serverId: string): Promise<Operation> {
    const { accountId } = (await this.servers.find(serverId)) ?? {};
    if (accountId === undefined) throw notFound();
    const limits = await this.quota.acquire(tx, accountId);
    const server = await this.servers.lockOwned(tx, accountId, serverId);
    await this.mustBeFree(tx, server);
    const used = await this.backups.count(tx, serverId);
    const full = used >= limits.backups;
    if (full && (limits.backups === 0 || !(await this.backups.oldestReplaceable(tx, serverId)))) {
      throw exceeded(limits, used);
    }
    const backup = await this.insert(tx, server, { isScheduled: true }, SYSTEM);
    return this.begin(tx, server, backup, full);
  }

  /** Gone from the API at once; one that is being made is broken off, and the archive follows. */
  async delete(caller: Principal, serverId: string, uuid: string): Promise<void> {
    await this.changing(caller, serverId, uuid, async (tx, server, backup) => {
      if (backup.isLocked) throw conflict('backup_locked', 'The backup is locked.', { currentStatus: backup.status });
      if (backup.status === 'RESTORING') throw stateConflict('delete', backup.status);
      const running = await this.operations.active(tx, serverId, BACKUP_LANE);
      if (running && (running.payload as BackupPayload).backupId === backup.id) {
        await this.operations.cancel(tx, running);
      }
      await this.backups.markDeleted(tx, backup.id);
      await this.record(tx, server, backup, 'server:backup.delete', actorOf(caller));
    });
  }

  async lock(caller: Principal, serverId: string, uuid: string, locked: boolean): Promise<BackupView> {
    return this.changing(caller, serverId, uuid, async (tx, server, backup) => {
      if (backup.isLocked === locked) return backupView(backup);
      if (locked) await this.mustNotBeAwaited(tx, backup);
      await tx.manager.update(Backup, { id: backup.id }, { isLocked: locked });
      const event = locked ? 'server:backup.lock' : 'server:backup.unlock';
      await this.record(tx, server, backup, event, actorOf(caller));
      return backupView({ ...backup, isLocked: locked });
    });
  }

  /** Makes the service's data what it was; afterwards the service is as it was before, running or stopped. */
  async restore(caller: Principal, serverId: string, uuid: string): Promise<Operation> {
    return this.changing(caller, serverId, uuid, async (tx, server, backup) => {
      await this.gate.mustAllow(tx, server, 'restore');
      if (backup.status !== 'READY') throw stateConflict('restore', backup.status);
      await this.operations.mustBeFree(tx, server, BACKUP_LANE);
      await tx.manager.update(Backup, { id: backup.id }, { status: 'RESTORING' });
      await tx.manager.update(Server, { id: serverId }, { status: 'RESTORING', updatedAt: new Date() });
      await this.record(tx, server, backup, 'server:backup.restore', actorOf(caller));
      return this.operations.start(tx, {
        accountId: server.accountId,
        type: BACKUP_OPERATIONS.restore,
        resourceId: serverId,
        payload: { backupId: backup.id, wasRunning: server.status === 'RUNNING' } satisfies RestorePayload,
      });
    });
  }

  /** Once in a while for each caller, whichever part is asked for: a client may fetch an archive in thousands of them. */
  async recordDownload(caller: Principal, serverId: string, { uuid }: Backup): Promise<void> {
    await this.changing(caller, serverId, uuid, async (tx, server, backup) => {
      const entry = entryOf(server, backup, 'server:backup.download', actorOf(caller));
      await this.events.recordOnce(tx, entry, SAME_DOWNLOAD_MS);
    });
  }

  private async changing<T>(
    caller: Principal,
    serverId: string,
    uuid: string,
    work: (tx: Tx, server: Server, backup: Backup) => Promise<T>,
  ): Promise<T> {
    return this.database.transaction(async (tx) => {
      const server = await this.servers.lockOwned(tx, caller.accountId, serverId);
      return work(tx, server, await this.backups.find(tx, serverId, uuid));
    });
  }

  /** Holding the service's row: there is data to back up, and no backup of it is being made. */
  private async mustBeFree(tx: Tx, server: Server): Promise<void> {
    if (!MAY_BACK_UP.includes(server.status)) throw stateConflict('backup', server.status);
    await this.operations.mustBeFree(tx, server, BACKUP_LANE);
  }

  /** Holding the service's row: what a scheduled backup is to replace stays replaceable, or the plan would have one too many. */
  private async mustNotBeAwaited(tx: Tx, { id, serverId, status }: Backup): Promise<void> {
    if (status !== 'READY') return;
    const running = await this.operations.active(tx, serverId, BACKUP_LANE);
    if (!(running?.payload as BackupPayload | undefined)?.replaces) return;
    if (await this.backups.oldestReplaceable(tx, serverId, id)) return;
    const detail = 'A scheduled backup is being made that may take the place of this one, the last that is not locked.';
    throw conflict('backup_being_replaced', detail, { currentStatus: status });
  }

  private async insert(
    tx: Tx,
    server: Server,
    { name, isScheduled }: { name?: string; isScheduled: boolean },
    by: By,
  ): Promise<Backup> {
    const now = new Date();
    const backup = tx.manager.create(Backup, {
      id: newId('bak'),
      uuid: randomUUID(),
      serverId: server.id,
      name: name ?? `Backup at ${now.toISOString().slice(0, 19).replace('T', ' ')}`,
      status: 'CREATING',
      bytes: null,
      checksum: null,
      blobId: null,
      isLocked: false,
      isScheduled,
      createdAt: now,
      completedAt: null,
      deletedAt: null,
    });
    await tx.manager.insert(Backup, backup);
    await this.backups.forgetFailed(tx, server.id);
    await this.record(tx, server, backup, 'server:backup.start', by);
    return backup;
  }

  private begin(tx: Tx, server: Server, { id }: Backup, replaces: boolean): Promise<Operation> {
    return this.operations.start(tx, {
      accountId: server.accountId,
      type: BACKUP_OPERATIONS.create,
      resourceId: server.id,
      lane: BACKUP_LANE,
      payload: { backupId: id, replaces } satisfies BackupPayload,
    });
  }

  private record(tx: Tx, server: Server, backup: Backup, event: string, by: By): Promise<void> {
    return this.events.record(tx, entryOf(server, backup, event, by));
  }
}

function entryOf({ accountId, id: resourceId }: Server, { uuid, name }: Backup, event: string, by: By): NewEvent {
  return { accountId, resourceId, event, properties: { uuid, name }, ...by };
}

function exceeded({ backups }: PlanLimits, used: number): Error {
  return quotaExceeded({ name: 'backups', allowed: backups, used, requested: 1 });
}
