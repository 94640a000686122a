import { closeSync, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';

/** A secret file that cannot be used; the message names the fault and never the content. */
export class PrivateFileError extends Error {}

/**
 * Reads a file that holds a secret. One that others may read, or that belongs to another user than ours or root, is refused:
 * it is no secret any more. `label` names the file to the operator.
 */
export function readPrivateFile(file: string, label: string): { text: string; stats: Stats } {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch (cause) {
    throw new PrivateFileError(`${label} cannot be read`, { cause });
  }
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) throw new PrivateFileError(`${label} is no plain file`);
    if ((stats.mode & 0o077) !== 0) throw new PrivateFileError(`${label} must have mode 0600`);
    if (stats.uid !== process.getuid!() && stats.uid !== 0)
      throw new PrivateFileError(`${label} must belong to the user of the process`);
    return { text: readFileSync(descriptor, 'utf8'), stats };
  } finally {
    closeSync(descriptor);
  }
}
