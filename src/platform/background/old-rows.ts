import { encodeTime } from 'ulid';
import type { Database } from '../database/database.js';
import type { IdPrefix } from '../ids/id.js';

const BATCH = 2000;
const ULID_TIME = 10;
const DAY_MS = 86_400_000;

export interface OldRows {
  /** With ids of this kind as its primary key; `t` in the condition. */
  table: string;
  prefix: IdPrefix;
  days: number;
  /** Which of the old ones go; all when left out. */
  condition?: string;
}

/**
 * Removes rows whose ids were made that many days ago, in small transactions, so that nobody waits for them. Answers how many
 * went. Breaks off between two of them when `stopped` says so.
 */
export async function removeOldRows(database: Database, rows: OldRows, stopped: () => boolean): Promise<number> {
  const { table, prefix, days, condition = '1 = 1' } = rows;
  const end = `${prefix}_${encodeTime(Date.now() - days * DAY_MS, ULID_TIME).toLowerCase()}`;
  let removed = 0;
  for (let after = ''; !stopped();) {
    const old = await database.manager.query<{ id: string }[]>(
      `SELECT t.id FROM ${table} t WHERE t.id > ? AND t.id < ? AND (${condition}) ORDER BY t.id LIMIT ${BATCH}`,
      [after, end],
    );
    if (old.length === 0) break;
    const ids = old.map(({ id }) => id);
    const { affectedRows } = await database.manager.query<{ affectedRows: number }>(
      `DELETE FROM ${table} WHERE id IN (?)`,
      [ids],
    );
    removed += affectedRows;
    after = ids.at(-1)!;
  }
  return removed;
}
