import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { type Config, readSecretFile } from '../../config/config.js';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Keeps passwords in a form that the database alone does not give away, and that belongs to one row: a sealed password that
 * is moved to another row, or to another version of it, does not open. Each purpose has a key of its own.
 */
export abstract class RowSeal {
  private key: Buffer | undefined;

  protected constructor(
    private readonly config: Config,
    private readonly purpose: string,
  ) {}

  seal(password: string, row: string): Buffer {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.secret(), nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(row));
    const sealed = Buffer.concat([cipher.update(password, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
  }

  open(sealed: Buffer, row: string): string {
    const nonce = sealed.subarray(0, NONCE_BYTES);
    const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
    const decipher = createDecipheriv(CIPHER, this.secret(), nonce, { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(row))
      .setAuthTag(tag);
    const clear = decipher.update(sealed.subarray(NONCE_BYTES + TAG_BYTES));
    return Buffer.concat([clear, decipher.final()]).toString('utf8');
  }

  private secret(): Buffer {
    this.key ??= Buffer.from(
      hkdfSync('sha256', readSecretFile(this.config, 'sessionSecretFile'), '', this.purpose, 32),
    );
    return this.key;
  }
}
