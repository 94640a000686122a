import { Injectable } from '@nestjs/common';
import type { Principal } from '../../platform/auth/principal.js';
import { Database, isDuplicate, type Tx } from '../../platform/database/database.js';
import { badField, conflict, notFound } from '../../platform/errors/domain-error.js';
import { isId, newId } from '../../platform/ids/id.js';
import { Account, type AccountStatus } from './account.entity.js';
import { AccountPrincipal, type AccountProfile } from './account-principal.js';
import { DEFAULT_PLAN } from './plan.entity.js';
import { requirePlan } from './plans.service.js';
import { EMAIL, normalizeEmail, USERNAME } from './username.js';

export interface NewAccount {
  username: string;
  email: string;
  plan?: string;
}

/** An account as operators see it. */
export interface AccountView extends AccountProfile {
  plan: string;
  status: AccountStatus;
  createdAt: Date;
}

@Injectable()
export class AccountsService {
  constructor(private readonly database: Database) {}

  create(wanted: NewAccount): Promise<AccountView> {
    return this.database.transaction(async (tx) => accountView(await this.insert(tx, wanted)));
  }

  /** Adds an account within the caller's transaction; a taken name or address is a 409. */
  async insert(tx: Tx, { username, email, plan = DEFAULT_PLAN }: NewAccount): Promise<Account> {
    const address = normalizeEmail(email);
    if (!USERNAME.test(username)) {
      throw badField(
        'username',
        'malformed',
        'username must be 3 to 32 characters of a-z 0-9 . _ - and begin and end with a letter or digit.',
      );
    }
    if (!EMAIL.test(address)) throw badField('email', 'malformed', 'email must be an e-mail address.');
    const { id: planId } = await requirePlan(tx, plan);
    const account = tx.manager.create(Account, {
      id: newId('usr'),
      username,
      email: address,
      planId,
      status: 'active',
      sessionGeneration: 0,
      createdAt: new Date(),
    });
    try {
      await tx.manager.insert(Account, account);
    } catch (error) {
      if (isDuplicate(error, 'uq_accounts_username')) throw conflict('username_taken', 'The username is taken.');
      if (isDuplicate(error, 'uq_accounts_email')) throw conflict('email_taken', 'The e-mail address has an account.');
      throw error;
    }
    return account;
  }

  async list(): Promise<AccountView[]> {
    const accounts = await this.database.manager.find(Account, { order: { id: 'DESC' } });
    return accounts.map(accountView);
  }

  /** The account of a username or an id. */
  async find(reference: string): Promise<AccountView> {
    return accountView(await this.require(this.database, reference));
  }

  /** The same, if it may do anything: null for one that is suspended or does not exist. */
  async findActive(reference: string): Promise<AccountView | null> {
    const where = isId('usr', reference) ? { id: reference } : { username: reference };
    const account = await this.database.manager.findOneBy(Account, { ...where, status: 'active' });
    return account && accountView(account);
  }

  async setPlan(reference: string, plan: string): Promise<AccountView> {
    return this.change(reference, async (tx, account) => {
      account.planId = (await requirePlan(tx, plan)).id;
    });
  }

  /** Suspending takes effect at the account's next request, on both surfaces. */
  setStatus(reference: string, status: AccountStatus): Promise<AccountView> {
    return this.change(reference, (_tx, account) => {
      account.status = status;
    });
  }

  /** Ends every browser session of the account, wherever it is. */
  endSessions(reference: string): Promise<AccountView> {
    return this.change(reference, (_tx, account) => {
      account.sessionGeneration += 1;
    });
  }

  /** What `/me` answers. */
  async profile(caller: Principal): Promise<AccountProfile> {
    if (caller instanceof AccountPrincipal) return caller.profile;
    const { id, username, email } = await this.find(caller.accountId);
    return { id, username, email };
  }

  private change(reference: string, edit: (tx: Tx, account: Account) => void | Promise<void>): Promise<AccountView> {
    return this.database.transaction(async (tx) => {
      const { id } = await this.require(tx, reference);
      const account = await tx.manager.findOneOrFail(Account, { where: { id }, lock: { mode: 'pessimistic_write' } });
      await edit(tx, account);
      const { planId, status, sessionGeneration } = account;
      await tx.manager.update(Account, { id }, { planId, status, sessionGeneration });
      return accountView(account);
    });
  }

  private async require({ manager }: Pick<Tx, 'manager'>, reference: string): Promise<Account> {
    const where = isId('usr', reference) ? { id: reference } : { username: reference };
    const account = await manager.findOneBy(Account, where);
    if (!account) throw notFound();
    return account;
  }
}

function accountView({ id, username, email, planId, status, createdAt }: Account): AccountView {
  return { id, username, email, plan: planId, status, createdAt };
}
