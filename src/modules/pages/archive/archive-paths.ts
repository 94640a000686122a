import { ArchiveError, shown } from './archive-error.js';

export const MAX_PATH_BYTES = 512;
const MAX_SEGMENT_BYTES = 255;
/** Segments of a path, its own name included. */
export const MAX_DEPTH = 32;
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;
const LITTER = /(?:^|\/)(?:__MACOSX(?:\/|$)|\.DS_Store$)/;

/** What desktop systems leave in archives and nobody means to publish. */
export function isLitter(path: string): boolean {
  return LITTER.test(path);
}

/**
 * Refuses a name that is no plain relative path. Nothing is ever written under these names; a site whose files are reached
 * under other names than its archive shows would be a surprise all the same.
 */
export function checkPath(path: string): void {
  const unsafe = (why: string) => new ArchiveError('archive_path_unsafe', `The path "${shown(path)}" ${why}.`);
  if (!path.isWellFormed() || path.includes('\ufffd')) throw unsafe('is not UTF-8');
  if (CONTROL.test(path)) throw unsafe('holds control characters');
  if (path.includes('\\')) throw unsafe('holds a backslash');
  if (path.startsWith('/') || /^[a-z]:/i.test(path)) throw unsafe('is absolute');
  const segments = path.replace(/\/$/, '').split('/');
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) {
    throw unsafe('has a segment that is empty, "." or ".."');
  }
  const tooLong = (why: string) => new ArchiveError('archive_path_too_long', `The path "${shown(path)}" ${why}.`);
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw tooLong(`has more than ${MAX_PATH_BYTES} bytes`);
  if (segments.length > MAX_DEPTH) throw tooLong(`has more than ${MAX_DEPTH} segments`);
  if (segments.some((segment) => Buffer.byteLength(segment) > MAX_SEGMENT_BYTES)) {
    throw tooLong(`has a segment of more than ${MAX_SEGMENT_BYTES} bytes`);
  }
}

/** Two names that most people or file systems take for one are one. */
function folded(path: string): string {
  return path.normalize('NFC').toLowerCase();
}

/** Refuses a path that is there twice, and a file that is a folder of others as well. */
export function checkConflicts(files: readonly string[], folders: readonly string[]): void {
  const seen = new Set<string>();
  for (const path of files) {
    const name = folded(path);
    if (seen.has(name)) throw conflict(path, 'is there more than once, or differs from another in case only');
    seen.add(name);
  }
  const within = new Set(folders.map((folder) => folded(folder.replace(/\/$/, ''))));
  for (const name of seen) {
    for (let at = name.lastIndexOf('/'); at !== -1; at = name.lastIndexOf('/', at - 1)) {
      const folder = name.slice(0, at);
      if (within.has(folder)) break;
      within.add(folder);
    }
  }
  for (const path of files) if (within.has(folded(path))) throw conflict(path, 'is a file and a folder at once');
}

function conflict(path: string, why: string): ArchiveError {
  return new ArchiveError('archive_path_conflict', `The path "${shown(path)}" ${why}.`);
}

/** The one folder that holds all of the site, with its slash, where archives were made of a folder; '' for none. */
export function singleRoot(files: readonly string[]): string {
  const [first = ''] = files;
  const root = first.slice(0, first.indexOf('/') + 1);
  if (root === '' || !files.every((path) => path.startsWith(root))) return '';
  return files.includes(`${root}index.html`) ? root : '';
}
