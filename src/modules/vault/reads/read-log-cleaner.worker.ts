import { Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import { RecurringWorker } from '../../../platform/background/recurring-worker.js';
import { AppLogger } from '../../../platform/observability/logger.js';

const INTERVAL_MS = 3_600_000;
const FIRST_MS = 60_000;
const DAY_MS = 86_400_000;
const LOCK = 'berth:vault-reads';

/** What a service keeps in any case: its newest reads. */
const KEPT = 1000;
/** What it keeps of those before: for so many days, so many reads, and with so many lists of keys. */
const KEPT_DAYS = 30;
const MOST = 100_000;
const MOST_LISTS = 1000;
const BATCH = 5000;

const NTH = `
  SELECT at, id FROM vault_reads WHERE server_id = ? ORDER BY at DESC, id DESC LIMIT 1 OFFSET ?`;
const NTH_LIST = `
  SELECT MAX(at) AS at, 0 AS id FROM vault_reads WHERE server_id = ? AND key_list IS NOT NULL
   GROUP BY key_list ORDER BY at DESC LIMIT 1 OFFSET ?`;
const REMOVE = `
  DELETE FROM vault_reads WHERE server_id = ? AND (at < ? OR (at = ? AND id < ?)) ORDER BY at, id LIMIT ${BATCH}`;
/** Lists that no read refers to; one stored lately may be about to be, for as long as processes know it to be stored. */
const UNUSED = `
  stored_at < UTC_TIMESTAMP(3) - INTERVAL 3 HOUR
    AND NOT EXISTS (SELECT 1 FROM vault_reads WHERE key_list = vault_key_lists.hash)`;

/** An entry's place in the log. */
interface Place {
  at: Date;
  id: number;
}

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
    await this.dropUnusedLists();
    return removed;
  }

  private async clean(serverId: string): Promise<number> {
    const first = await this.firstKept(serverId);
    if (!first) return 0;
    for (let removed = 0; ;) {
      const { affectedRows } = await this.database.manager.query<{ affectedRows: number }>(REMOVE, [
        serverId,
        first.at,
        first.at,
        first.id,
      ]);
      removed += affectedRows;
      if (affectedRows < BATCH || this.stopped) return removed;
    }
  }

  /** Everything before it goes; null where nothing does. */
  private async firstKept(serverId: string): Promise<Place | null> {
    const least = await this.nth(NTH, serverId, KEPT);
    if (!least) return null;
    const limits = [
      { at: new Date(Date.now() - KEPT_DAYS * DAY_MS), id: 0 },
      await this.nth(NTH, serverId, MOST),
      await this.nth(NTH_LIST, serverId, MOST_LISTS),
    ];
    const latest = limits.reduce((one, other) => (other && isBefore(one!, other) ? other : one))!;
    return isBefore(latest, least) ? latest : least;
  }

  private async nth(query: string, serverId: string, n: number): Promise<Place | undefined> {
    const [place] = await this.database.manager.query<Place[]>(query, [serverId, n - 1]);
    return place;
  }

  private async dropUnusedLists(): Promise<void> {
    for (let found = BATCH; found === BATCH && !this.stopped;) {
      const unused = await this.database.manager.query<{ hash: Buffer }[]>(
        `SELECT hash FROM vault_key_lists WHERE ${UNUSED} LIMIT ${BATCH}`,
      );
      found = unused.length;
      if (found === 0) return;
      // Looked at again: this time nobody can refer to one of them meanwhile.
      await this.database.manager.query(`DELETE FROM vault_key_lists WHERE hash IN (?) AND ${UNUSED}`, [
        unused.map(({ hash }) => hash),
      ]);
    }
  }
}

function isBefore(one: Place, other: Place): boolean {
  const apart = one.at.getTime() - other.at.getTime();
  return apart < 0 || (apart === 0 && one.id < other.id);
}
