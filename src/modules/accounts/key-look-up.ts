import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/database.js';
import type { AccountStatus } from './account.entity.js';

export interface KeyRow {
  keyId: string;
  hashedKey: string;
  scopes: string;
  allowedAddresses: string | null;
  lastUsedAt: Date | null;
  expiresAt: Date | null;
  revokedAt: Date | null;
  accountId: string;
  username: string;
  email: string;
  status: AccountStatus;
}

const LOOK_UP = `
  SELECT k.id AS keyId, k.hashed_key AS hashedKey, k.scopes, k.allowed_addresses AS allowedAddresses,
         k.last_used_at AS lastUsedAt, k.expires_at AS expiresAt, k.revoked_at AS revokedAt,
         a.id AS accountId, a.username, a.email, a.status
    FROM api_keys k JOIN accounts a ON a.id = k.account_id
   WHERE k.hashed_key IN (?)`;

const MAX_BATCH = 100;

interface Waiting {
  resolve(row: KeyRow | undefined): void;
  reject(error: unknown): void;
}

/**
 * Finds keys by their hash, all that decides on a request with them. Nothing is kept: a look-up starts after its request came
 * in, so a revoked key is dead everywhere at once. Those that come in one turn of the event loop share one query.
 */
@Injectable()
export class KeyLookUp {
  private waiting = new Map<string, Waiting[]>();

  constructor(private readonly database: Database) {}

  find(hash: string): Promise<KeyRow | undefined> {
    return new Promise((resolve, reject) => {
      if (this.waiting.size === 0) setImmediate(() => this.flush());
      const others = this.waiting.get(hash);
      if (others) others.push({ resolve, reject });
      else this.waiting.set(hash, [{ resolve, reject }]);
    });
  }

  private flush(): void {
    const all = [...this.waiting];
    this.waiting = new Map();
    for (let start = 0; start < all.length; start += MAX_BATCH) void this.ask(all.slice(start, start + MAX_BATCH));
  }

  private async ask(batch: [string, Waiting[]][]): Promise<void> {
    try {
      const rows = await this.database.manager.query<KeyRow[]>(LOOK_UP, [batch.map(([hash]) => hash)]);
      const byHash = new Map(rows.map((row) => [row.hashedKey, row]));
      for (const [hash, waiting] of batch) for (const one of waiting) one.resolve(byHash.get(hash));
    } catch (error) {
      for (const [, waiting] of batch) for (const one of waiting) one.reject(error);
    }
  }
}
