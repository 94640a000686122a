import { Injectable } from '@nestjs/common';
import { In, IsNull, Not } from 'typeorm';
import { Database } from '../../../platform/database/database.js';
import { AppLogger } from '../../../platform/observability/logger.js';
import { Operation } from '../../../platform/operations/operation.entity.js';
import { OperationsService } from '../../../platform/operations/operations.service.js';
import { EngineOwners, type EngineOwner } from '../../instances/engine-owners.service.js';
import { BACKUP_OPERATIONS } from '../backups/backup.operations.js';
import { Server } from '../server.entity.js';
import { DELETE_LANE, engineName, ownerOf, SERVER_OPERATIONS, type EngineNameKind } from '../server.operations.js';

/** The operation whose work a name belongs to; the others belong to the service's row. */
const WORKS_ASIDE: Partial<Record<EngineNameKind, string>> = {
  bak: BACKUP_OPERATIONS.create,
  rst: BACKUP_OPERATIONS.restore,
  old: BACKUP_OPERATIONS.restore,
};

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
        select: { resourceId: true, type: true },
        where: { resourceId: In(ids), type: In(Object.values(WORKS_ASIDE)), activeKey: Not(IsNull()) },
      }),
    ]);
    const services = new Set(rows.map(({ id }) => id));
    const works = new Set(unfinished.map(({ resourceId, type }) => `${type} ${resourceId}`));
    const owned = known.filter(({ name, kind, serverId }) => {
      const type = WORKS_ASIDE[kind];
      if (type === undefined) return services.has(serverId);
      return works.has(`${type} ${serverId}`) || (volumes.has(name) && isOnlyData(name, volumes));
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

/** A service's old volume while it has no other: whatever became of the restore, this is not a leftover. */
function isOnlyData(name: string, present: ReadonlySet<string>): boolean {
  const owner = ownerOf(name);
  return owner?.kind === 'old' && !present.has(engineName(owner.serverId));
}
