import { Injectable } from '@nestjs/common';
import { In, IsNull, Not } from 'typeorm';
import { Database } from '../../../platform/database/database.js';
import { AppLogger } from '../../../platform/observability/logger.js';
import { Operation } from '../../../platform/operations/operation.entity.js';
import { OperationsService } from '../../../platform/operations/operations.service.js';
import { EngineOwners, type EngineOwner } from '../../instances/engine-owners.service.js';
import { asideName, BACKUP_OPERATIONS, copyName, type BackupPayload } from '../backups/backup.operations.js';
import { Server } from '../server.entity.js';
import { DELETE_LANE, engineName, ownerOf, SERVER_OPERATIONS, type EngineNameKind } from '../server.operations.js';

/** Names that belong to an operation and not to the service's row. */
const MADE_ASIDE: EngineNameKind[] = ['bak', 'rst', 'old'];

/** Tells what belongs to services in the engine. */
@Injectable()
export class ServerOwnerWorker implements EngineOwner {
  constructor(
    private readonly database: Database,
    private readonly operations: OperationsService,
    private readonly log: AppLogger,
    owners: EngineOwners,
  ) {
    owners.register(this);
  }

  gives(name: string): boolean {
    return ownerOf(name) !== null;
  }

  /** Owned by a service's row, or by the operation that works with it aside. */
  async ownedAmong(names: string[], volumes: ReadonlySet<string>): Promise<Set<string>> {
    const known = names.flatMap((name) => {
      const owner = ownerOf(name);
      return owner ? [{ name, ...owner }] : [];
    });
    const ids = [...new Set(known.map(({ serverId }) => serverId))];
    if (ids.length === 0) return new Set();
    const { manager } = this.database;
    const [rows, unfinished] = await Promise.all([
      manager.find(Server, { select: { id: true }, where: { id: In(ids) } }),
      manager.find(Operation, {
        select: { resourceId: true, type: true, payload: true },
        where: { resourceId: In(ids), type: In(Object.values(BACKUP_OPERATIONS)), activeKey: Not(IsNull()) },
      }),
    ]);
    const services = new Set(rows.map(({ id }) => id));
    const asides = new Set(unfinished.flatMap(asidesOf));
    const owned = known.filter(({ name, kind, serverId }) => {
      if (!MADE_ASIDE.includes(kind)) return services.has(serverId);
      return asides.has(name) || (volumes.has(name) && isOnlyData(name, volumes));
    });
    return new Set(owned.map(({ name }) => name));
  }

  async finishDeletions(): Promise<void> {
    const rows = await this.database.manager.find(Server, {
      select: { id: true, accountId: true },
      where: { status: 'DELETING' },
    });
    for (const { id, accountId } of rows) {
      await this.database.transaction(async (tx) => {
        if (await this.operations.active(tx, id, DELETE_LANE)) return;
        const type = SERVER_OPERATIONS.delete;
        await this.operations.start(tx, { accountId, type, resourceId: id, lane: DELETE_LANE });
        this.log.warn({ serverId: id }, 'deletion that gave up is started again');
      });
    }
  }
}

/** What an operation has aside until it has ended. */
function asidesOf({ type, resourceId, payload }: Pick<Operation, 'type' | 'resourceId' | 'payload'>): string[] {
  if (type === BACKUP_OPERATIONS.create) return [copyName(resourceId, (payload as BackupPayload).backupId)];
  return [asideName('rst', resourceId), asideName('old', resourceId)];
}

/** A service's old volume while it has no other: whatever became of the restore, this is not a leftover. */
function isOnlyData(name: string, present: ReadonlySet<string>): boolean {
  const owner = ownerOf(name);
  return owner?.kind === 'old' && !present.has(engineName(owner.serverId));
}
