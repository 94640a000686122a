import type { ApiScope, Principal } from '../../platform/auth/principal.js';

/** What the contract shows of an account. */
export interface AccountProfile {
  id: string;
  username: string;
  email: string;
}

/** A principal that still knows the account row it was made from, so that `/me` needs no second query. */
export class AccountPrincipal implements Principal {
  readonly accountId: string;

  constructor(
    readonly profile: AccountProfile,
    readonly via: 'key' | 'session',
    readonly keyId: string | null,
    readonly scopes: ReadonlySet<ApiScope>,
    readonly address: string,
  ) {
    this.accountId = profile.id;
  }
}
