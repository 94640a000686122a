import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { Database } from '../../platform/database/database.js';
import { Account } from './account.entity.js';
import { ApiKey } from './api-key.entity.js';

/** What somebody was let in by. */
export interface Access {
  accountId: string;
  /** The API key, if it was one. */
  keyId: string | null;
  /** The account's session generation, where it was a browser session. */
  sessionGeneration?: number;
}

export type AccessLoss = 'suspended' | 'revoked';

/** Whether those who were let in may stay: for connections that outlive the request which opened them. */
@Injectable()
export class AccessService {
  constructor(private readonly database: Database) {}

  async sessionGeneration(accountId: string): Promise<number> {
    const { sessionGeneration } = await this.database.manager.findOneByOrFail(Account, { id: accountId });
    return sessionGeneration;
  }

  /** Why each of them may not stay, null for those who may. */
  async losses(all: Access[]): Promise<(AccessLoss | null)[]> {
    const accountIds = [...new Set(all.map(({ accountId }) => accountId))];
    const keyIds = [...new Set(all.flatMap(({ keyId }) => keyId ?? []))];
    const [accounts, keys] = await Promise.all([
      this.database.manager.findBy(Account, { id: In(accountIds) }),
      keyIds.length === 0 ? [] : this.database.manager.findBy(ApiKey, { id: In(keyIds) }),
    ]);
    const accountOf = new Map(accounts.map((account) => [account.id, account]));
    const keyOf = new Map(keys.map((key) => [key.id, key]));
    return all.map(({ accountId, keyId, sessionGeneration }) => {
      const account = accountOf.get(accountId);
      if (account?.status !== 'active') return 'suspended';
      if (keyId !== null && !isAlive(keyOf.get(keyId), accountId)) return 'revoked';
      return sessionGeneration === undefined || sessionGeneration === account.sessionGeneration ? null : 'revoked';
    });
  }
}

function isAlive(key: ApiKey | undefined, accountId: string): boolean {
  if (key?.accountId !== accountId || key.revokedAt !== null) return false;
  return key.expiresAt === null || key.expiresAt.getTime() > Date.now();
}
