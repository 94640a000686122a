import { Injectable } from '@nestjs/common';
import { timingSafeEqual } from 'node:crypto';
import { Batcher } from '../../../platform/batching/batcher.js';
import { Database } from '../../../platform/database/database.js';
import { hashOfToken } from './runtime-token.js';

export interface TokenHolder {
  serverId: string;
  accountId: string;
  addressLock: boolean;
  suspended: boolean;
}

interface Row {
  tokenHash: string;
  serverId: string;
  accountId: string;
  addressLock: number;
  status: string;
}

const LOOK_UP = `
  SELECT t.token_hash AS tokenHash, t.server_id AS serverId, t.address_lock AS addressLock,
         a.id AS accountId, a.status
    FROM vault_tokens t JOIN servers s ON s.id = t.server_id JOIN accounts a ON a.id = s.account_id
   WHERE t.token_hash IN (?) AND s.status <> 'DELETING'`;

const NOBODY = Buffer.alloc(32);

/**
 * Finds the service of a runtime token. Nothing is kept: a look-up starts after its request came in, so a replaced token is
 * dead everywhere at once.
 */
@Injectable()
export class TokenLookUp {
  private readonly batches = new Batcher((hashes: Buffer[]) => this.ask(hashes), { items: 100, atOnce: 1 });

  constructor(private readonly database: Database) {}

  async find(token: string): Promise<TokenHolder | null> {
    const hash = hashOfToken(token);
    const row = await this.batches.add(hash);
    const matches = timingSafeEqual(hash, row ? Buffer.from(row.tokenHash, 'hex') : NOBODY);
    if (!row || !matches) return null;
    const { serverId, accountId, addressLock, status } = row;
    return { serverId, accountId, addressLock: addressLock === 1, suspended: status !== 'active' };
  }

  private async ask(hashes: Buffer[]): Promise<(Row | undefined)[]> {
    const texts = hashes.map((hash) => hash.toString('hex'));
    const rows = await this.database.manager.query<Row[]>(LOOK_UP, [[...new Set(texts)]]);
    const byHash = new Map(rows.map((row) => [row.tokenHash, row]));
    return texts.map((text) => byHash.get(text));
  }
}
