import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import { RecurringWorker } from '../../../platform/background/recurring-worker.js';
import { AppLogger } from '../../../platform/observability/logger.js';

const INTERVAL_MS = 3_600_000;
const FIRST_MS = 60_000;
const LOCK = 'berth:vault-reads';

/** What a service keeps in any case: its newest reads, and those of so many days. */
const KEPT = 1000;
const KEPT_DAYS = 30;
const BATCH = 5000;

/** Removes old entries of the read log, from the services that have more than they need to keep. */
@Injectable()
export class ReadLogCleanerWorker extends RecurringWorker {
  constructor(
    private readonly database: Database,
    log: AppLogger,
  ) {
    super({ what: 'cleaning of the read log', everyMs: INTERVAL_MS, firstMs: FIRST_MS }, log);
  }

  protected turn(): Promise<unknown> {
    return this.database.exclusively(LOCK, async () => void (await this.pass()));
  }

  /** Answers how many entries went. */
  async pass(): Promise<number> {
    let removed = 0;
    for (let after = ''; !this.stopped;) {
      const [next] = await this.database.manager.query<{ serverId: string | null }[]>(
        'SELECT MIN(server_id) AS serverId FROM vault_reads WHERE server_id > ?',
        [after],
      );
      if (!next?.serverId) break;
      removed += await this.clean(next.serverId);
      after = next.serverId;
    }
    return removed;
  }

  private async clean(serverId: string): Promise<number> {
    const [edge] = await this.database.manager.query<{ at: Date; id: string }[]>(
      `SELECT at, id FROM vault_reads WHERE server_id = ? ORDER BY at DESC, id DESC LIMIT 1 OFFSET ${KEPT - 1}`,
      [serverId],
    );
    if (!edge) return 0;
    for (let removed = 0; ;) {
      const { affectedRows } = await this.database.manager.query<{ affectedRows: number }>(
        `DELETE FROM vault_reads WHERE server_id = ? AND at < UTC_TIMESTAMP(3) - INTERVAL ${KEPT_DAYS} DAY
            AND (at < ? OR (at = ? AND id < ?)) ORDER BY at, id LIMIT ${BATCH}`,
        [serverId, edge.at, edge.at, edge.id],
      );
      removed += affectedRows;
      if (affectedRows < BATCH || this.stopped) return removed;
    }
  }
}
