import { createCipheriv, createDecipheriv, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import { ConfigError, type Config, readSecretFile } from '../../config/config.js';
import { secretKeyOf } from './value-cipher.js';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SHORTEST_SECRET = 32;

/**
 * Keeps passwords in a form that the database alone does not give away, and that belongs to one row: a sealed password that
 * is moved to another row, or to another version of it, does not open. Each purpose has keys of its own, one for each line of
 * the file that PASSWORD_KEY_FILE names: the first seals, and what any of them sealed opens.
 */
export abstract class RowSeal {
  private keys: readonly [KeyObject, ...KeyObject[]] | undefined;

  protected constructor(
    private readonly config: Config,
    private readonly purpose: string,
  ) {}

  seal(password: string, row: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const [key] = this.opened();
    const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(row));
    const sealed = Buffer.concat([cipher.update(password, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
  }

  /** Throws when none of the keys opens it for this row. */
  open(sealed: Buffer, row: string): string {
    for (const key of this.opened()) {
      const clear = openWith(key, sealed, row);
      if (clear !== null) return clear;
    }
    throw new Error(`A sealed password (${row}) does not open: was a line of PASSWORD_KEY_FILE lost?`);
  }

  private opened(): readonly [KeyObject, ...KeyObject[]] {
    if (this.keys) return this.keys;
    const [first, ...others] = readSecretFile(this.config, 'passwordKeyFile')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .map((secret) => this.keyOf(secret));
    return (this.keys = [first!, ...others]);
  }

  private keyOf(secret: string): KeyObject {
    if (secret.length < SHORTEST_SECRET) {
      throw new ConfigError('Settings: the file that PASSWORD_KEY_FILE names holds a line of less than 32 characters.');
    }
    return secretKeyOf(Buffer.from(hkdfSync('sha256', secret, '', this.purpose, 32)));
  }
}

function openWith(key: KeyObject, sealed: Buffer, row: string): string | null {
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  try {
    const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(row))
      .setAuthTag(tag);
    const clear = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES));
    return Buffer.concat([clear, decipher.final()]).toString('utf8');
  } catch {
    return null;
  }
}
