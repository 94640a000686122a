import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomBytes, type KeyObject } from 'node:crypto';
import { lengthPrefixed } from './length-prefixed.js';

/*
 * One secret value as it is stored: 0x01 || info || nonce || ciphertext || tag. The key is used this once: it is derived from
 * the scope's seed and 32 random bytes, so that no number of writes under one seed brings two nonces together.
 */

const CIPHER = 'aes-256-gcm';
const FORMAT = 0x01;
const INFO_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + INFO_BYTES + NONCE_BYTES;
const PURPOSE = 'evault/1 value';

export const SEED_BYTES = 32;

/** What a ciphertext belongs to. In another place, or as anything else, it does not open. */
export interface ValuePlace {
  scope: string;
  key: string;
  version: number;
  sealed: boolean;
  /** Generation of the scope's seed. */
  generation: number;
}

/** A ciphertext that is not what it claims to be. */
export class BrokenCiphertext extends Error {
  constructor() {
    super('a stored value does not open');
  }
}

/** Takes over the bytes: they are wiped. */
export function secretKeyOf(bytes: Buffer): KeyObject {
  const seed = createSecretKey(bytes);
  bytes.fill(0);
  return seed;
}

export function sealValue(seed: KeyObject, place: ValuePlace, value: Buffer): Buffer {
  const info = randomBytes(INFO_BYTES);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, keyFor(seed, info), nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(placeBytes(place));
  const sealed = cipher.update(value);
  cipher.final();
  return Buffer.concat([Buffer.from([FORMAT]), info, nonce, sealed, cipher.getAuthTag()]);
}

export function openValue(seed: KeyObject, place: ValuePlace, blob: Buffer): Buffer {
  if (blob.length < HEAD_BYTES + TAG_BYTES || blob[0] !== FORMAT) throw new BrokenCiphertext();
  const info = blob.subarray(1, 1 + INFO_BYTES);
  const nonce = blob.subarray(1 + INFO_BYTES, HEAD_BYTES);
  const end = blob.length - TAG_BYTES;
  const decipher = createDecipheriv(CIPHER, keyFor(seed, info), nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(placeBytes(place)).setAuthTag(blob.subarray(end));
  const value = decipher.update(blob.subarray(HEAD_BYTES, end));
  try {
    decipher.final();
  } catch {
    value.fill(0);
    throw new BrokenCiphertext();
  }
  return value;
}

function keyFor(seed: KeyObject, info: Buffer): KeyObject {
  return secretKeyOf(Buffer.from(hkdfSync('sha256', seed, info, PURPOSE, 32)));
}

function placeBytes({ scope, key, version, sealed, generation }: ValuePlace): Buffer {
  return lengthPrefixed('evault/1', 'value', scope, key, version, sealed, generation);
}
