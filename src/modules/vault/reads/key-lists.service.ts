import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { createHash } from 'node:crypto';
import { Database } from '../../../platform/database/database.js';
import { NameBudget } from '../store/name-budget.service.js';

const HASH_BYTES = 16;
/** A list that a process knows to be stored is stored anew by then: the cleaner leaves it alone for three times as long. */
const SURE_MS = 3_600_000;
const REMEMBERED = 20_000;

const STORE = `
  INSERT INTO vault_key_lists (hash, names, stored_at) VALUES ?
  ON DUPLICATE KEY UPDATE stored_at = VALUES(stored_at)`;

export interface KeyList {
  hash: Buffer;
  names: string;
}

/** A list that was served to a service of an account. */
export interface ServedList extends KeyList {
  accountId: string;
}

/** Names of secrets as a list that reads refer to; null for none. */
export function keyListOf(keys: readonly string[]): KeyList | null {
  if (keys.length === 0) return null;
  const names = keys.join(',');
  return { hash: createHash('sha256').update(names).digest().subarray(0, HASH_BYTES), names };
}

/** Keeps each list of keys once, however many reads served it. */
@Injectable()
export class KeyLists {
  private readonly stored = new LRUCache<string, true>({ max: REMEMBERED, ttl: SURE_MS });

  constructor(
    private readonly database: Database,
    private readonly budget: NameBudget,
  ) {}

  /** Resolves when reads may refer to them. */
  async store(lists: readonly ServedList[]): Promise<void> {
    const unknown = new Map<string, ServedList>();
    for (const list of lists) {
      const name = list.hash.toString('base64');
      if (!this.stored.has(name)) unknown.set(name, list);
    }
    if (unknown.size === 0) return;
    const news = await this.newOnes([...unknown.values()]);
    const now = new Date();
    const rows = [...unknown.values()].sort(byHash).map(({ hash, names }) => [hash, names, now]);
    await this.database.transaction(({ manager }) => manager.query(STORE, [rows]));
    for (const name of unknown.keys()) this.stored.set(name, true);
    for (const { accountId } of news) this.budget.note(accountId);
  }

  private async newOnes(lists: readonly ServedList[]): Promise<ServedList[]> {
    const rows = await this.database.manager.query<{ hash: Buffer }[]>(
      'SELECT hash FROM vault_key_lists WHERE hash IN (?)',
      [lists.map(({ hash }) => hash)],
    );
    const known = new Set(rows.map(({ hash }) => hash.toString('base64')));
    return lists.filter(({ hash }) => !known.has(hash.toString('base64')));
  }

  /** Makes sure of each list anew: the database may be another than it was. */
  forget(): void {
    this.stored.clear();
  }
}

/** The one order in which rows are locked. */
export function byHash(one: { hash: Buffer } | null, other: { hash: Buffer } | null): number {
  if (one === null || other === null) return Number(one !== null) - Number(other !== null);
  return Buffer.compare(one.hash, other.hash);
}
