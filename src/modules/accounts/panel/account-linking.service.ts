import { Injectable } from '@nestjs/common';
import { Database, isDuplicate, type Tx } from '../../../platform/database/database.js';
import { DomainError } from '../../../platform/errors/domain-error.js';
import { EventRecorder } from '../../../platform/events/event-recorder.js';
import { Account } from '../account.entity.js';
import { AccountsService } from '../accounts.service.js';
import { Identity } from '../identity.entity.js';
import { EMAIL, normalizeEmail, usernameFrom, variantOf } from '../username.js';
import type { ProvedIdentity } from './oidc-client.js';
import { PanelSettings } from './panel-settings.js';

const MAX_ATTEMPTS = 8;

/** Finds or makes the account behind a login. */
@Injectable()
export class AccountLinking {
  constructor(
    private readonly database: Database,
    private readonly accounts: AccountsService,
    private readonly events: EventRecorder,
    private readonly settings: PanelSettings,
  ) {}

  /**
   * The account of this identity. A first login takes over the account with the same verified address, if no identity has
   * that yet, or else makes one; `ip` is for the activity log.
   */
  async accountOf(proved: ProvedIdentity, ip: string): Promise<Account> {
    for (let attempt = 1; ; attempt++) {
      try {
        const account = await this.database.transaction((tx) => this.findOrLink(tx, proved, ip));
        if (account.status !== 'active') throw refused('account_suspended', 'The account is suspended.');
        return account;
      } catch (error) {
        // The same person came in twice at once; by now the other request's rows can be seen.
        if (attempt >= MAX_ATTEMPTS || !isRace(error)) throw error;
      }
    }
  }

  private async findOrLink(tx: Tx, proved: ProvedIdentity, ip: string): Promise<Account> {
    const { issuer, subject } = proved;
    const known = await tx.manager.findOneBy(Identity, { issuer, subject });
    if (known) return tx.manager.findOneByOrFail(Account, { id: known.accountId });
    if (subject.length > 255 || issuer.length > 255) throw refused('identity_refused', 'The identity cannot be kept.');
    const email = proved.verifiedEmail === null ? '' : normalizeEmail(proved.verifiedEmail);
    if (!EMAIL.test(email)) throw refused('email_unverified', 'The identity provider vouches for no e-mail address.');
    const account =
      (await this.unlinkedAccount(tx, email)) ?? (await this.newAccount(tx, email, proved.preferredUsername));
    await tx.manager.insert(Identity, { issuer, subject, accountId: account.id, createdAt: new Date() });
    await this.events.record(tx, {
      accountId: account.id,
      resourceId: account.id,
      event: 'user:identity.link',
      actor: { type: 'session', id: account.id },
      ip,
      properties: { issuer },
    });
    return account;
  }

  private async unlinkedAccount(tx: Tx, email: string): Promise<Account | null> {
    const account = await tx.manager.findOne(Account, { where: { email }, lock: { mode: 'pessimistic_write' } });
    if (!account) return null;
    if (await tx.manager.existsBy(Identity, { accountId: account.id })) {
      throw refused('email_in_use', 'An account with this e-mail address belongs to another login.');
    }
    if (account.status !== 'active') throw refused('account_suspended', 'The account is suspended.');
    return account;
  }

  private async newAccount(tx: Tx, email: string, preferred: string | undefined): Promise<Account> {
    if (!this.settings.signupOpen) throw refused('signup_closed', 'New accounts are made by the operator.');
    const wanted = usernameFrom(preferred, email);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.accounts.insert(tx, { username: attempt === 1 ? wanted : variantOf(wanted), email });
      } catch (error) {
        if (attempt >= MAX_ATTEMPTS || !hasCode(error, 'username_taken')) throw error;
      }
    }
  }
}

function refused(code: string, detail: string): DomainError {
  return new DomainError('forbidden', code, detail);
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof DomainError && error.code === code;
}

function isRace(error: unknown): boolean {
  return isDuplicate(error) || hasCode(error, 'email_taken');
}
