import { Injectable } from '@nestjs/common';
import { Engine } from '../../drivers/engine/engine.js';
import { RecurringWorker } from '../../platform/background/recurring-worker.js';
import { Database } from '../../platform/database/database.js';
import { AppLogger } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { EngineOwners } from './engine-owners.service.js';

const INTERVAL_MS = 30_000;
const FIRST_MS = 3000;
const LOCK = 'berth:reconcile-servers';

/**
 * Finds what no row owns in the engine and removes it, and says so. Rows are made before anything in the engine and removed
 * after it, and ids are never used twice: what has no row now will never have one.
 */
@Injectable()
export class LeftoversWorker extends RecurringWorker {
  private readonly removed;

  constructor(
    private readonly database: Database,
    private readonly engine: Engine,
    private readonly owners: EngineOwners,
    log: AppLogger,
    metrics: Metrics,
  ) {
    super({ what: 'search for leftovers in the engine', everyMs: INTERVAL_MS, firstMs: FIRST_MS }, log);
    this.removed = metrics.counter(
      'berth_leftovers_removed_total',
      'Containers and volumes without an owner that were removed',
      ['kind'],
    );
  }

  protected turn(): Promise<unknown> {
    return this.database.exclusively(LOCK, () => this.reconcile());
  }

  /** One pass. The engine is listed before the rows are read, so that what is made meanwhile is not taken for a leftover. */
  async reconcile(): Promise<void> {
    const [instances, volumes] = [await this.engine.listInstances(), await this.engine.listVolumes()];
    const present = new Set(volumes.map(({ name }) => name));
    const names = [...instances, ...volumes].map(({ name }) => name);
    const owned = new Set<string>();
    for (const owner of this.owners.all) {
      const its = names.filter((name) => owner.gives(name));
      for (const name of await owner.ownedAmong(its, present)) owned.add(name);
    }
    for (const { name } of instances) {
      if (!owned.has(name)) await this.remove('instance', name, () => this.engine.deleteInstance(name));
    }
    for (const { name } of volumes) {
      if (!owned.has(name)) await this.remove('volume', name, () => this.engine.deleteVolume(name));
    }
    for (const owner of this.owners.all) await owner.finishDeletions();
  }

  private async remove(kind: 'instance' | 'volume', name: string, work: () => Promise<void>): Promise<void> {
    if (!this.owners.all.some((owner) => owner.gives(name))) {
      this.log.warn({ kind, name }, 'not made by this platform, left alone');
      return;
    }
    await work();
    this.removed.inc({ kind });
    this.log.warn({ kind, name }, 'removed: nobody owns it');
  }
}
