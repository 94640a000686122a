import { Injectable } from '@nestjs/common';
import { timingSafeEqual } from 'node:crypto';
import { ApiKeyAuthenticator } from '../../platform/auth/authenticators.js';
import type { ApiScope } from '../../platform/auth/principal.js';
import { AccountPrincipal } from './account-principal.js';
import { hashOf, isAllowed } from './api-key.js';
import { KeyLookUp, type KeyRow } from './key-look-up.js';
import { KeyUsage } from './key-usage.js';

const NOBODY = Buffer.alloc(32);

@Injectable()
export class KeyAuthenticator extends ApiKeyAuthenticator {
  constructor(
    private readonly keys: KeyLookUp,
    private readonly usage: KeyUsage,
  ) {
    super();
  }

  async authenticate(key: string, address: string): Promise<AccountPrincipal | null> {
    const hash = hashOf(key);
    const row = await this.keys.find(hash.toString('hex'));
    const matches = timingSafeEqual(hash, row ? Buffer.from(row.hashedKey, 'hex') : NOBODY);
    if (!row || !matches || !isUsable(row, address)) return null;
    this.usage.used(row.keyId, row.lastUsedAt);
    return new AccountPrincipal(
      { id: row.accountId, username: row.username, email: row.email },
      'key',
      row.keyId,
      grantedScopes(row.scopes),
      address,
    );
  }
}

function isUsable(row: KeyRow, address: string): boolean {
  if (row.revokedAt !== null || row.status !== 'active') return false;
  if (row.expiresAt !== null && row.expiresAt.getTime() <= Date.now()) return false;
  return row.allowedAddresses === null || isAllowed(address, row.allowedAddresses.split(','));
}

/** Read routes ask for a valid key and no more, so every key may read. */
function grantedScopes(stored: string): ReadonlySet<ApiScope> {
  return new Set<ApiScope>(['read', ...(stored.split(',') as ApiScope[])]);
}
