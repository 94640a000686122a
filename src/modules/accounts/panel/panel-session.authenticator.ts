import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { SessionAuthenticator } from '../../../platform/auth/authenticators.js';
import { API_SCOPES } from '../../../platform/auth/principal.js';
import { Database } from '../../../platform/database/database.js';
import { clientAddress } from '../../../platform/http/client-address.js';
import { AccountPrincipal } from '../account-principal.js';
import { ABSOLUTE_MS } from './session.middleware.js';

const LOOK_UP = `
  SELECT id, username, email FROM accounts
   WHERE id = ? AND status = 'active' AND session_generation = ?`;

const ALL_SCOPES = new Set(API_SCOPES);

interface AccountRow {
  id: string;
  username: string;
  email: string;
}

/** A session counts for as long as its account is there, active, and has not ended its sessions since. */
@Injectable()
export class PanelSessionAuthenticator extends SessionAuthenticator {
  constructor(private readonly database: Database) {
    super();
  }

  async authenticate(request: Request): Promise<AccountPrincipal | null> {
    const { accountId, generation, signedInAt } = request.session;
    if (accountId === undefined || generation === undefined || signedInAt === undefined) return null;
    if (signedInAt + ABSOLUTE_MS <= Date.now()) return null;
    const [row] = await this.database.manager.query<AccountRow[]>(LOOK_UP, [accountId, generation]);
    if (!row) return null;
    const { id, username, email } = row;
    return new AccountPrincipal({ id, username, email }, 'session', null, ALL_SCOPES, clientAddress(request));
  }
}
