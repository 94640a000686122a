import { createHash, createHmac, timingSafeEqual, type KeyObject } from 'node:crypto';
import { lengthPrefixed } from '../../../platform/crypto/length-prefixed.js';
import type { ValuePlace } from '../../../platform/crypto/value-cipher.js';
import type { VaultScope } from './vault-scope.entity.js';
import type { VaultSecret } from './vault-secret.entity.js';

export type HeadScope = Pick<VaultScope, 'scope' | 'epoch' | 'generation' | 'versionFloor'>;
/** Without a ciphertext it is a deleted one. */
export type HeadRow = Pick<VaultSecret, 'key' | 'version' | 'sealed' | 'ciphertext'>;

/** The code over a scope: of which rows it consists, deleted ones included, and how often it has changed. */
export function headOf(key: KeyObject, scope: HeadScope, rows: readonly HeadRow[]): Buffer {
  const digest = createHash('sha256');
  for (const row of [...rows].sort((a, b) => (a.key < b.key ? -1 : 1))) {
    const { ciphertext } = row;
    const content = ciphertext === null ? '' : createHash('sha256').update(ciphertext).digest();
    digest.update(lengthPrefixed(row.key, row.version, row.sealed, ciphertext === null, content));
  }
  const { scope: name, epoch, generation, versionFloor } = scope;
  return createHmac('sha256', key)
    .update(lengthPrefixed('evault/1', 'head', name, epoch, generation, versionFloor, digest.digest()))
    .digest();
}

export function sameHead(stored: Buffer, computed: Buffer): boolean {
  return stored.length === computed.length && timingSafeEqual(stored, computed);
}

/** Equal for equal values of one key in one scope, and of use for nothing else: without the key it cannot be guessed at. */
export function fingerprintOf(key: KeyObject, scope: string, name: string, value: Buffer): string {
  return createHmac('sha256', key)
    .update(lengthPrefixed('fp/1', scope, name, value))
    .digest('hex')
    .slice(0, 16);
}

export function placeOf(
  { scope, generation }: Pick<VaultScope, 'scope' | 'generation'>,
  { key, version, sealed }: Pick<VaultSecret, 'key' | 'version' | 'sealed'>,
): ValuePlace {
  return { scope, key, version, sealed, generation };
}
