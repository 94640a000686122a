import { DatabaseHostError } from '../database-host.js';

/** Quoted for a statement. Nothing else ever gets into one: names are made of our own ids. */
export function quoted(name: string): string {
  if (!/^[a-z][a-z0-9_]{0,31}$/.test(name))
    throw new DatabaseHostError('failed', `${JSON.stringify(name)}: no name of ours`);
  return `\`${name}\``;
}

/** An account, whatever address it comes from. */
export function account(user: string): string {
  return `${quoted(user)}@'%'`;
}

/** The schema as GRANT and REVOKE read it: there `_` and `%` stand for any characters unless they are escaped. */
export function grantPattern(schema: string): string {
  return quoted(schema).replace(/[_%]/g, '\\$&');
}

/** Quoted too, but of a tenant's: it may hold anything. */
export function anyName(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}
