import { join } from 'node:path';
import { REPOSITORY, isExecutable, readJson } from './layout.mjs';
import { run } from './process.mjs';
import { Failure } from './terminal.mjs';

/** The Node that the platform runs on; it comes with the npm package `node`. */
export const PROJECT_NODE = join(REPOSITORY, 'node_modules', 'node', 'bin', 'node');

/** @param {string} name */
export function projectProgram(name) {
  return join(REPOSITORY, 'node_modules', '.bin', name);
}

/** Whether what is installed is what the lock file says. */
export function dependenciesInstalled() {
  const wanted = readJson(join(REPOSITORY, 'package-lock.json'))?.packages;
  const installed = readJson(join(REPOSITORY, 'node_modules', '.package-lock.json'))?.packages;
  if (!wanted || !installed || !isExecutable(PROJECT_NODE)) return false;
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true;
    const there = installed[path];
    // Packages for other platforms are in the lock file only.
    if (!there) return Boolean(entry.optional || entry.devOptional || entry.peer);
    return there.version === entry.version && there.integrity === entry.integrity;
  });
}

/** @param {(text: string) => void} note */
export async function installDependencies(note) {
  // Under `npm run` the PATH starts with node_modules/.bin, which `npm ci` is about to remove.
  const path = (process.env.PATH ?? '')
    .split(':')
    .filter((folder) => !folder.endsWith('node_modules/.bin'))
    .join(':');
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...process.env, PATH: path };
  for (const name of Object.keys(env)) {
    // What the outer npm was called with is not meant for this one.
    if (/^npm_(lifecycle|package|command|node_execpath|execpath)/.test(name)) delete env[name];
  }
  await run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=http'], {
    cwd: REPOSITORY,
    env,
    onLine: note,
    title: 'npm ci',
    advice: 'check that the npm registry can be reached (npm ping), then run the command again',
  });
  if (!isExecutable(PROJECT_NODE)) await completeNode(env, note);
  if (!isExecutable(PROJECT_NODE))
    throw new Failure('npm ci did not bring Node 24 (package `node`)', {
      advice: 'look at its install script: npm rebuild node',
    });
}

/**
 * An npm that runs no install scripts leaves the package `node` without its binary.
 * @param {NodeJS.ProcessEnv} env
 * @param {(text: string) => void} note
 */
async function completeNode(env, note) {
  const cwd = join(REPOSITORY, 'node_modules', 'node');
  await run(process.execPath, ['installArchSpecificPackage.js'], {
    cwd,
    env,
    onLine: note,
    title: 'install of Node 24',
    mayFail: true,
  });
}
