import { createCipheriv, createDecipheriv, randomBytes, type KeyObject } from 'node:crypto';
import {
  contextBytes,
  keyProviderAway,
  KeyProvider,
  WrongKey,
  type KeyContext,
  type WrappedKey,
} from '../key-provider.js';
import { lengthPrefixed } from '../length-prefixed.js';
import { readKeyring, stampOf, type Keyring } from './keyring.js';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Wraps with a key of a local file. The file is read again when it changes, so that keys come and go while serving. */
export class LocalKeyProvider extends KeyProvider {
  readonly kind = 'local';
  private ring: Keyring;

  /** Throws at once when the keyring is none, or not safe. */
  constructor(
    private readonly file: string,
    private readonly forbiddenFolders: readonly string[] = [],
  ) {
    super();
    this.ring = readKeyring(file, forbiddenFolders);
  }

  override async wrap(key: Buffer, context: KeyContext): Promise<WrappedKey> {
    const { id, key: master } = this.current();
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, master, nonce, { authTagLength: TAG_BYTES }).setAAD(bound(id, context));
    const wrapped = Buffer.concat([cipher.update(key), cipher.final()]);
    return { keyId: id, blob: Buffer.concat([nonce, wrapped, cipher.getAuthTag()]) };
  }

  override async unwrap({ keyId, blob }: WrappedKey, context: KeyContext): Promise<Buffer> {
    const master = this.keys().find(({ id }) => id === keyId)?.key;
    if (!master || blob.length < NONCE_BYTES + TAG_BYTES) throw new WrongKey();
    return open(master, blob, bound(keyId, context));
  }

  override async currentKeyId(): Promise<string> {
    return this.current().id;
  }

  override async check(): Promise<void> {
    this.keys();
  }

  private current(): Keyring['keys'][number] {
    return this.keys()[0]!;
  }

  private keys(): Keyring['keys'] {
    try {
      if (stampOf(this.file) !== this.ring.stamp) this.ring = readKeyring(this.file, this.forbiddenFolders);
    } catch (error) {
      throw keyProviderAway(error);
    }
    return this.ring.keys;
  }
}

function bound(keyId: string, context: KeyContext): Buffer {
  return lengthPrefixed('evault/1', 'wrap', keyId, contextBytes(context));
}

function open(master: KeyObject, blob: Buffer, context: Buffer): Buffer {
  const end = blob.length - TAG_BYTES;
  const decipher = createDecipheriv(CIPHER, master, blob.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(context).setAuthTag(blob.subarray(end));
  const key = decipher.update(blob.subarray(NONCE_BYTES, end));
  try {
    decipher.final();
  } catch (cause) {
    key.fill(0);
    throw new WrongKey({ cause });
  }
  return key;
}
