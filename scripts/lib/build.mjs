import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { REPOSITORY, readJson } from './layout.mjs';
import { Failure } from './terminal.mjs';

const FOLDERS = ['src', 'migrations'];
const OUT = join(REPOSITORY, 'dist');
const MANIFEST = join(OUT, 'build.json');
const COMMANDS = ['dist/src/cli/berth.js'];

/** @param {string} folder @returns {string[]} */
function filesIn(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesIn(path) : [path];
  });
}

/** @param {string} file */
const isSource = (file) => file.endsWith('.ts') && !file.endsWith('.d.ts') && !file.endsWith('.spec.ts');

/** @param {string} file */
const isTest = (file) => file.endsWith('.spec.ts') || file.endsWith('.d.ts');

/** @param {string | Buffer} content */
const digest = (content) => createHash('sha256').update(content).digest('hex');

/** Every source file with the hash of what it is built from. */
function sources() {
  const options = readFileSync(join(REPOSITORY, '.swcrc'), 'utf8');
  const compiler = readJson(join(REPOSITORY, 'node_modules', '@swc', 'core', 'package.json'))?.version;
  const salt = `${options}\n${compiler}\n`;
  const files = FOLDERS.flatMap((folder) => filesIn(join(REPOSITORY, folder))).filter((file) => !isTest(file));
  return Object.fromEntries(
    files.sort().map((file) => [relative(REPOSITORY, file), digest(`${salt}${readFileSync(file, 'utf8')}`)]),
  );
}

/** @param {string} source */
const outputOf = (source) => join(OUT, isSource(source) ? source.replace(/\.ts$/, '.js') : source);

/** Changes whenever anything does that the built platform consists of. */
export function buildRevision() {
  return digest(JSON.stringify(sources()));
}

/** Whether dist/ is what the sources say. */
export function isBuilt() {
  const built = readJson(MANIFEST);
  const wanted = sources();
  if (!built || Object.keys(built).length !== Object.keys(wanted).length) return false;
  return Object.entries(wanted).every(([source, hash]) => built[source] === hash && existsSync(outputOf(source)));
}

/**
 * Compiles what changed, copies what is no TypeScript and removes what has no source any more.
 * @returns {Promise<{ compiled: number, removed: number }>}
 */
export async function build() {
  const swc = await loadCompiler();
  const wanted = sources();
  const built = readJson(MANIFEST) ?? {};
  // A build that is cut short must not pass for a whole one.
  rmSync(MANIFEST, { force: true });
  let compiled = 0;
  for (const [source, hash] of Object.entries(wanted)) {
    const output = outputOf(source);
    if (built[source] === hash && existsSync(output)) continue;
    mkdirSync(dirname(output), { recursive: true });
    if (isSource(source)) await compile(swc, source, output);
    else writeFileSync(output, readFileSync(join(REPOSITORY, source)));
    compiled++;
  }
  const removed = removeStale(new Set(Object.keys(wanted).map(outputOf)));
  for (const command of COMMANDS.map((path) => join(REPOSITORY, path)).filter(existsSync)) chmodSync(command, 0o755);
  linkCommand();
  writeFileSync(MANIFEST, JSON.stringify(wanted));
  return { compiled, removed };
}

/** Makes `npx berth` find the command line of this very clone. */
function linkCommand() {
  const link = join(REPOSITORY, 'node_modules', '.bin', 'berth');
  rmSync(link, { force: true });
  symlinkSync('../../dist/src/cli/berth.js', link);
}

/** @returns {Promise<any>} */
async function loadCompiler() {
  const entry = join(REPOSITORY, 'node_modules', '@swc', 'core', 'index.js');
  return (await import(pathToFileURL(entry).href)).default;
}

/**
 * @param {any} swc
 * @param {string} source
 * @param {string} output
 */
async function compile(swc, source, output) {
  const file = join(REPOSITORY, source);
  try {
    const { code, map } = await swc.transformFile(file, {
      cwd: REPOSITORY,
      configFile: join(REPOSITORY, '.swcrc'),
      sourceFileName: relative(dirname(output), file),
    });
    const name = output.slice(output.lastIndexOf('/') + 1);
    if (map) writeFileSync(`${output}.map`, map);
    writeFileSync(output, map ? `${code}//# sourceMappingURL=${name}.map\n` : code);
  } catch (cause) {
    const lines = String(/** @type {Error} */ (cause).message).split('\n');
    throw new Failure(`${source} cannot be compiled`, { log: lines, cause });
  }
}

/** @param {Set<string>} kept */
function removeStale(kept) {
  const stale = filesIn(OUT).filter(
    (file) => file !== MANIFEST && !kept.has(file) && !kept.has(file.replace(/\.map$/, '')),
  );
  for (const file of stale) rmSync(file);
  removeEmptyFolders(OUT);
  return stale.length;
}

/** @param {string} folder */
function removeEmptyFolders(folder) {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (!statSync(path).isDirectory()) continue;
    removeEmptyFolders(path);
    if (readdirSync(path).length === 0) rmSync(path, { recursive: true });
  }
}
