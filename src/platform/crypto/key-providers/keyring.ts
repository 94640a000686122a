import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto';
import { realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { sep } from 'node:path';
import { PrivateFileError, readPrivateFile } from '../../files/private-file.js';

const LINE = /^([A-Za-z0-9_-]{1,64}) ([A-Za-z0-9+/]{43}=)$/;
/** The one in use, and one more: about to be used, or used before. An old key that is kept for good opens old copies for good. */
const MAX_KEYS = 2;

const LABEL = 'the keyring that MASTER_KEY_FILE names';

export interface Keyring {
  /** The first is the one in use. */
  keys: { id: string; key: KeyObject }[];
  /** Changes when the file does. */
  stamp: string;
}

/** Reads the keyring: `id base64(32 bytes)` a line, the one in use first. Refuses one that is not safe where it lies. */
export function readKeyring(file: string, forbiddenFolders: readonly string[] = []): Keyring {
  const { text } = readPrivateFile(file, LABEL);
  const place = realpathSync(file);
  for (const folder of forbiddenFolders) {
    if (place.startsWith(realFolder(folder) + sep))
      throw new PrivateFileError(`${LABEL} lies in a folder of data: whoever copies the data would have the key`);
  }
  const keys = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, id, secret] = LINE.exec(line) ?? [];
      if (!id || !secret) throw new PrivateFileError(`${LABEL} holds a line that is no key`);
      return { id, key: createSecretKey(Buffer.from(secret, 'base64')) };
    });
  if (keys.length === 0) throw new PrivateFileError(`${LABEL} holds no key`);
  if (keys.length > MAX_KEYS) throw new PrivateFileError(`${LABEL} holds more than ${MAX_KEYS} keys`);
  if (new Set(keys.map(({ id }) => id)).size !== keys.length)
    throw new PrivateFileError(`${LABEL} holds two keys of one id`);
  return { keys, stamp: stampOf(file) };
}

export function stampOf(file: string): string {
  const { ino, size, mtimeNs } = statSync(file, { bigint: true });
  return `${ino}-${size}-${mtimeNs}`;
}

/** Writes the keyring at once or not at all. */
export function writeKeyring(file: string, keys: Keyring['keys']): void {
  const lines = keys.map(({ id, key }) => `${id} ${key.export().toString('base64')}\n`);
  const draft = `${file}.${process.pid}.new`;
  try {
    writeFileSync(draft, lines.join(''), { mode: 0o600, flush: true });
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

export function newKey(): Keyring['keys'][number] {
  const day = new Date().toISOString().slice(0, 10).replaceAll('-', '');
  return { id: `k${day}-${randomBytes(4).toString('hex')}`, key: createSecretKey(randomBytes(32)) };
}

function realFolder(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}
