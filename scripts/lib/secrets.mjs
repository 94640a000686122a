import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writePrivate } from './layout.mjs';

/** Every secret of a stack, each in a file of its own with mode 0600, made once. */
export const SECRETS = {
  database: 'database-password',
  tenantDatabase: 'tenant-database-password',
  redis: 'redis-password',
  session: 'session-secret',
  passwordKey: 'password-key',
  nodeToken: 'node-token',
  oidcClient: 'oidc-client-secret',
  development: 'development-password',
};

/**
 * @param {import('./layout.mjs').Layout} layout
 * @param {keyof typeof SECRETS} name
 */
export function secretFile(layout, name) {
  return join(layout.secrets, SECRETS[name]);
}

/**
 * The secret's value, made now if there is none yet.
 * @param {import('./layout.mjs').Layout} layout
 * @param {keyof typeof SECRETS} name
 */
export function secret(layout, name) {
  const file = secretFile(layout, name);
  if (!existsSync(file)) {
    // The development password is typed by people.
    const value = name === 'development' ? randomBytes(9).toString('base64url') : randomBytes(32).toString('hex');
    writePrivate(file, `${value}\n`);
  }
  return readFileSync(file, 'utf8').trim();
}

/**
 * The keyring of the vault's master key, made once. It is a list of keys, of which `berth vault keyring` makes more.
 * @param {import('./layout.mjs').Layout} layout
 */
export function masterKeyFile(layout) {
  const file = join(layout.secrets, 'master-key');
  if (!existsSync(file)) writePrivate(file, `k1 ${randomBytes(32).toString('base64')}\n`);
  return file;
}

/**
 * Where the vault notes what it has reached: beside the secrets, as it must not be put back together with the data.
 * @param {import('./layout.mjs').Layout} layout
 */
export function vaultAnchorFile(layout) {
  return join(layout.secrets, 'vault-anchor');
}
