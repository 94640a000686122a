import { Injectable } from '@nestjs/common';
import { RecurringWorker } from '../../platform/background/recurring-worker.js';
import { Database } from '../../platform/database/database.js';
import { AppLogger } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { databaseIdOf, namesOf } from './database-names.js';
import { DatabaseRepository } from './database.repository.js';
import { RegisteredHost } from './hosts/registered-host.entity.js';
import { HostLinks } from './lifecycle/host-links.js';

const INTERVAL_MS = 60_000;
const FIRST_MS = 5000;
const LOCK = 'berth:reconcile-databases';

/**
 * Finds what no row owns on the hosts and removes it. Rows are made before anything on a host and removed after it, and ids
 * are never used twice: what has no row now will never have one.
 */
@Injectable()
export class DatabaseReconcilerWorker extends RecurringWorker {
  private readonly removed;

  constructor(
    private readonly database: Database,
    private readonly databases: DatabaseRepository,
    private readonly links: HostLinks,
    log: AppLogger,
    metrics: Metrics,
  ) {
    super({ what: 'reconciliation of databases', everyMs: INTERVAL_MS, firstMs: FIRST_MS }, log);
    this.removed = metrics.counter(
      'berth_leftover_databases_removed_total',
      'Databases without an owner that were removed',
    );
  }

  protected turn(): Promise<void> {
    return this.database.exclusively(LOCK, () => this.reconcile());
  }

  /** One pass. A host that is away has its turn when it is back. */
  async reconcile(): Promise<void> {
    for (const host of await this.databases.hosts()) {
      if (this.stopped) return;
      try {
        await this.clear(host);
      } catch (error) {
        this.log.warn({ err: error, host: host.name }, 'leftovers on a database host could not be looked for');
      }
    }
  }

  /** The host is listed before the rows are read, so that a database made meanwhile is not taken for a leftover. */
  private async clear(host: RegisteredHost): Promise<void> {
    const link = this.links.to(host);
    const present = await link.owned(host.id);
    const rows = new Set((await this.databases.onHost(host.id)).map(({ id }) => id));
    for (const name of present) {
      const id = databaseIdOf(name);
      if (id === null || rows.has(id)) continue;
      const { schema, program, platform } = namesOf(id);
      await link.remove({ schema, users: [program, platform] });
      this.removed.inc();
      this.log.warn({ host: host.name, schema }, 'removed: no service owns it');
    }
  }
}
