import { Injectable } from '@nestjs/common';
import { Config } from '../../config/config.js';
import {
  removeOldRows,
  removeSurplusRows,
  type OldRows,
  type SurplusRows,
} from '../../platform/background/old-rows.js';
import { RecurringWorker } from '../../platform/background/recurring-worker.js';
import { Database } from '../../platform/database/database.js';
import { AppLogger } from '../../platform/observability/logger.js';

const INTERVAL_MS = 3_600_000;
const FIRST_MS = 300_000;
const LOCK = 'berth:history';

/** What nothing ends but time. Of operations the newest of each thing that is there is shown with it, so it stays. */
const HISTORIES: Omit<OldRows, 'days'>[] = [
  { table: 'activity_events', prefix: 'act' },
  { table: 'notifications', prefix: 'ntf', condition: "t.status IN ('SENT', 'NOT_SENT')" },
  {
    table: 'operations',
    prefix: 'op',
    condition: `t.status IN ('DONE', 'FAILED', 'CANCELLED') AND (t.type LIKE '%.delete'
      OR EXISTS (SELECT 1 FROM operations newer WHERE newer.resource_id = t.resource_id AND newer.id > t.id))`,
  },
];

/**
 * A schedule may start every minute, and each start leaves an entry and an operation of its own and others for its tasks. None
 * of a schedule's remembered runs (300) loses its operation by this.
 */
const MOST_OF_ONE: SurplusRows[] = [
  { table: 'activity_events', keep: 10_000 },
  { table: 'operations', keep: 1000, condition: "t.status IN ('DONE', 'FAILED', 'CANCELLED')" },
];

/** Removes what the platform has told and done longer ago than operators keep it, or more often than anybody reads. */
@Injectable()
export class HistoryCleanerWorker extends RecurringWorker {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    log: AppLogger,
  ) {
    super({ what: 'cleaning of the history', everyMs: INTERVAL_MS, firstMs: FIRST_MS }, log);
  }

  /** Answers how many rows went. */
  async pass(): Promise<number> {
    let removed = 0;
    for (const history of HISTORIES) {
      const old = { ...history, days: this.config.historyDays };
      removed += await removeOldRows(this.database, old, () => this.stopped);
    }
    for (const rows of MOST_OF_ONE) removed += await removeSurplusRows(this.database, rows, () => this.stopped);
    return removed;
  }

  protected turn(): Promise<void> {
    return this.database.exclusively(LOCK, async () => {
      const removed = await this.pass();
      if (removed > 0) this.log.info({ removed, days: this.config.historyDays }, 'old history removed');
    });
  }
}
