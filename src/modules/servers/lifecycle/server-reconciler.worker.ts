import { Injectable } from '@nestjs/common';
import { In, IsNull, Not } from 'typeorm';
import { Engine } from '../../../drivers/engine/engine.js';
import { Database } from '../../../platform/database/database.js';
import { RecurringWorker } from '../../../platform/background/recurring-worker.js';
import { AppLogger } from '../../../platform/observability/logger.js';
import { Metrics } from '../../../platform/observability/metrics.js';
import { Operation } from '../../../platform/operations/operation.entity.js';
import { OperationsService } from '../../../platform/operations/operations.service.js';
import { Server } from '../server.entity.js';
import { BACKUP_OPERATIONS } from '../backups/backup.operations.js';
import { DELETE_LANE, engineName, ownerOf, SERVER_OPERATIONS, type EngineNameKind } from '../server.operations.js';

const INTERVAL_MS = 30_000;
const FIRST_MS = 3000;
const LOCK = 'berth:reconcile-servers';
/** The operation whose work a name belongs to; the others belong to the service's row. */
const WORKS_ASIDE: Partial<Record<EngineNameKind, string>> = {
  bak: BACKUP_OPERATIONS.create,
  rst: BACKUP_OPERATIONS.restore,
  old: BACKUP_OPERATIONS.restore,
};

/**
 * Finds what no row owns in the engine and removes it, and says so. Rows are made before anything in the engine and removed
 * after it, and ids are never used twice: what has no row now will never have one.
 */
@Injectable()
export class ServerReconcilerWorker extends RecurringWorker {
  private readonly removed;

  constructor(
    private readonly database: Database,
    private readonly engine: Engine,
    private readonly operations: OperationsService,
    log: AppLogger,
    metrics: Metrics,
  ) {
    super({ what: 'reconciliation of services', everyMs: INTERVAL_MS, firstMs: FIRST_MS }, log);
    this.removed = metrics.counter(
      'berth_leftovers_removed_total',
      'Containers and volumes without an owner that were removed',
      ['kind'],
    );
  }

  protected turn(): Promise<unknown> {
    return this.database.exclusively(LOCK, () => this.reconcile());
  }

  /** One pass. The engine is listed before the rows are read, so that a service made meanwhile is not taken for a leftover. */
  async reconcile(): Promise<void> {
    const [instances, volumes] = [await this.engine.listInstances(), await this.engine.listVolumes()];
    const present = new Set(volumes.map(({ name }) => name));
    const owned = await this.ownedAmong([...instances, ...volumes].map(({ name }) => name));
    for (const { name } of instances) {
      if (!owned.has(name)) await this.remove('instance', name, () => this.engine.deleteInstance(name));
    }
    for (const { name } of volumes) {
      if (!owned.has(name) && !isOnlyData(name, present)) {
        await this.remove('volume', name, () => this.engine.deleteVolume(name));
      }
    }
    await this.finishDeletions();
  }

  /** Those of these names that something owns: a service's row, or the operation that works with it aside. */
  private async ownedAmong(names: string[]): Promise<Set<string>> {
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
    const owned = known.filter(({ kind, serverId }) => {
      const type = WORKS_ASIDE[kind];
      return type === undefined ? services.has(serverId) : works.has(`${type} ${serverId}`);
    });
    return new Set(owned.map(({ name }) => name));
  }

  private async remove(kind: 'instance' | 'volume', name: string, work: () => Promise<void>): Promise<void> {
    if (ownerOf(name) === null) {
      this.log.warn({ kind, name }, 'not made by this platform, left alone');
      return;
    }
    await work();
    this.removed.inc({ kind });
    this.log.warn({ kind, name }, 'removed: no service owns it');
  }

  /** A deletion that gave up starts over: the account was told that the service is gone. */
  private async finishDeletions(): Promise<void> {
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
