import { readFileSync, statSync } from 'node:fs';

/** The node's host key. A file that others may read is refused, as what it holds is no secret any more. */
export function readHostKey(file: string): string {
  if ((statSync(file).mode & 0o077) !== 0)
    throw new Error('The file that SFTP_HOST_KEY_FILE names must have mode 0600.');
  return readFileSync(file, 'utf8');
}
