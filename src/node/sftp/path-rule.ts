import { posix } from 'node:path';

/** All of a service's files, as its program sees them. */
export const FILES_ROOT = '/home/container';
const LONGEST = 4096;

/**
 * The path with its dots and doubled slashes gone, when it names the root or something below; null when it leads out. What
 * links make of it is decided where the file is opened, in a root of its own.
 */
export function pathInside(path: string, from: string = FILES_ROOT): string | null {
  if (path.length > LONGEST || path.includes('\0')) return null;
  const absolute = posix.resolve(from, path);
  return isInside(absolute) ? absolute : null;
}

export function isInside(absolute: string): boolean {
  return absolute === FILES_ROOT || absolute.startsWith(`${FILES_ROOT}/`);
}

/** The path as an account holder thinks of it: from the root of the files. Bytes become text again. */
export function shownPath(absolute: string): string {
  return Buffer.from(posix.relative(FILES_ROOT, absolute), 'latin1').toString('utf8');
}
