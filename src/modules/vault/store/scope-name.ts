import { isId } from '../../../platform/ids/id.js';

/** Whose secrets they are: a service's own, or those that all services of an account have. */
export interface ScopeOwner {
  accountId: string;
  /** Null for the account's. */
  serverId: string | null;
}

export function serverScope(serverId: string): string {
  return `srv:${serverId}`;
}

export function accountScope(accountId: string): string {
  return `acct:${accountId}`;
}

export function scopeOf({ accountId, serverId }: ScopeOwner): string {
  return serverId === null ? accountScope(accountId) : serverScope(serverId);
}

/** The scope that an operator means by the id of a service or an account; null for anything else. */
export function scopeOfId(id: string): string | null {
  if (isId('srv', id)) return serverScope(id);
  return isId('usr', id) ? accountScope(id) : null;
}
