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
  const old = `t.id > ? AND t.id < ? AND (${condition})`;
  return removeInParts(database, table, { where: old, values: [end] }, stopped);
}

export interface SurplusRows {
  /** With an index on `resource_id, id`; `t` in the condition. */
  table: string;
  /** How many of each resource stay, the newest ones. */
  keep: number;
  /** Which of the others go; all when left out. */
  condition?: string;
}

/** The same with rows of which there are too many of one resource, so that none fills the database by what it does. */
export async function removeSurplusRows(
  database: Database,
  { table, keep, condition = '1 = 1' }: SurplusRows,
  stopped: () => boolean,
): Promise<number> {
  const resources = await database.manager.query<{ id: string }[]>(
    `SELECT resource_id AS id FROM ${table} GROUP BY resource_id HAVING COUNT(*) > ?`,
    [keep],
  );
  let removed = 0;
  for (const { id } of resources) {
    const [last] = await database.manager.query<{ id: string }[]>(
      `SELECT id FROM ${table} WHERE resource_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?`,
      [id, keep - 1],
    );
    if (!last) continue;
    const surplus = `t.id > ? AND t.id < ? AND t.resource_id = ? AND (${condition})`;
    removed += await removeInParts(database, table, { where: surplus, values: [last.id, id] }, stopped);
  }
  return removed;
}

/** The first value of the condition is the id behind which the next part begins. */
async function removeInParts(
  database: Database,
  table: string,
  { where, values }: { where: string; values: unknown[] },
  stopped: () => boolean,
): Promise<number> {
  let removed = 0;
  for (let after = ''; !stopped();) {
    const found = await database.manager.query<{ id: string }[]>(
      `SELECT t.id FROM ${table} t WHERE ${where} ORDER BY t.id LIMIT ${BATCH}`,
      [after, ...values],
    );
    if (found.length === 0) break;
    const ids = found.map(({ id }) => id);
    const { affectedRows } = await database.manager.query<{ affectedRows: number }>(
      `DELETE FROM ${table} WHERE id IN (?)`,
      [ids],
    );
    removed += affectedRows;
    after = ids.at(-1)!;
  }
  return removed;
}
