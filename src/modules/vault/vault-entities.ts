import { VaultKey } from './keys/vault-key.entity.js';
import { VaultKeyList } from './reads/vault-key-list.entity.js';
import { VaultReadRecord } from './reads/vault-read.entity.js';
import { VaultIncident } from './store/vault-incident.entity.js';
import { VaultScope } from './store/vault-scope.entity.js';
import { VaultSecret } from './store/vault-secret.entity.js';
import { VaultToken } from './tokens/vault-token.entity.js';

/** The tables of this module, for whoever opens the database. */
export const VAULT_ENTITIES = [
  VaultKey,
  VaultScope,
  VaultSecret,
  VaultToken,
  VaultKeyList,
  VaultReadRecord,
  VaultIncident,
];
