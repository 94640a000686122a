import { createHash } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const REPOSITORY = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const IS_ROOT = process.getuid?.() === 0;

/**
 * Where the parts of one stack live. There are two: `up`, which keeps its data, and `test`, which runs beside it.
 * @typedef {object} Layout
 * @property {'up' | 'test'} kind
 * @property {string} state settings, secrets and logs
 * @property {string} data what the daemons keep
 * @property {string} run sockets and pid files; short, as socket paths are limited to 107 bytes
 * @property {string} log
 * @property {string} secrets
 * @property {string} images built images, shared by both stacks
 */

/**
 * @param {'up' | 'test'} kind
 * @returns {Layout}
 */
export function layoutOf(kind) {
  const state = join(REPOSITORY, kind === 'up' ? '.berth' : '.berth-test');
  const id = `${createHash('sha256').update(REPOSITORY).digest('hex').slice(0, 8)}${kind === 'test' ? '-test' : ''}`;
  return {
    kind,
    state,
    data: dataFolder(state, id),
    run: IS_ROOT ? `/run/berth-${id}` : `/tmp/berth-${process.getuid?.()}-${id}`,
    log: join(state, 'log'),
    secrets: join(state, 'secrets'),
    images: join(REPOSITORY, '.berth', 'cache', 'images'),
  };
}

/**
 * The daemons run under users of their own and containers under mapped ones: all must be able to walk to their data.
 * Where the repository lies in a private folder (such as /root), the data goes to /var/lib.
 * @param {string} state
 * @param {string} id
 */
function dataFolder(state, id) {
  const own = join(state, 'data');
  if (!IS_ROOT) return own;
  const elsewhere = `/var/lib/berth-${id}`;
  if (existsSync(elsewhere)) return elsewhere;
  const short = own.length <= 60;
  return short && everybodyMayEnter(dirname(state)) ? own : elsewhere;
}

/** @param {string} folder */
function everybodyMayEnter(folder) {
  for (let at = folder; ; at = dirname(at)) {
    if ((statSync(at).mode & 0o001) === 0) return false;
    if (at === dirname(at)) return true;
  }
}

/**
 * Makes the folders of a stack. Refuses a run folder that somebody else made first.
 * @param {Layout} layout
 */
export function makeFolders(layout) {
  makeFolder(layout.state, 0o711);
  makeFolder(layout.data, 0o711);
  makeFolder(layout.run, 0o711);
  makeFolder(layout.log, 0o700);
  makeFolder(layout.secrets, 0o700);
  if (statSync(layout.run).uid !== process.getuid?.()) throw new Error(`${layout.run} belongs to another user`);
}

/**
 * @param {string} folder
 * @param {number} mode
 */
export function makeFolder(folder, mode) {
  mkdirSync(folder, { recursive: true });
  if ((statSync(folder).mode & 0o777) !== mode) chmodSync(folder, mode);
}

/**
 * Where the platform keeps blobs: a folder beside the daemons' data, private to its own user. Made when it is missing.
 * @param {Layout} layout
 */
export function objectStore(layout) {
  const folder = join(layout.data, 'objects');
  makeFolder(folder, 0o700);
  return pathToFileURL(folder).href;
}

/**
 * Writes a file at once or not at all, readable by its owner only. No link is followed, whoever else may write to the folder.
 * @param {string} file
 * @param {string} text
 */
export function writePrivate(file, text) {
  const draft = `${file}.${process.pid}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, text, { mode: 0o600, flag: 'wx' });
  renameSync(draft, file);
}

/**
 * @param {string} file
 * @param {unknown} value
 */
export function writeJson(file, value) {
  writePrivate(file, `${JSON.stringify(value, null, 2)}\n`);
}

/**
 * The value in a JSON file; undefined when there is no such file or it was cut short.
 * @param {string} file
 * @returns {any}
 */
export function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError || /** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT')
      return undefined;
    throw error;
  }
}

/** @param {string} file */
export function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Full path of a program, also where PATH lacks the system folders.
 * @param {string} name
 */
export function findProgram(name) {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/bin', '/bin'];
  return folders.map((folder) => join(folder || '.', name)).find(isExecutable);
}

/**
 * @param {string} file
 * @param {number} count
 * @returns {string[]}
 */
export function lastLines(file, count) {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count);
  } catch {
    return [];
  }
}
