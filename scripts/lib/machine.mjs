import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { build, isBuilt } from './build.mjs';
import { REPOSITORY } from './layout.mjs';
import { installPackages, missingPackages } from './packages.mjs';
import { run } from './process.mjs';
import { dependenciesInstalled, installDependencies } from './project.mjs';

/**
 * Installs what the machine lacks, node_modules too, and builds what changed.
 * @param {import('./terminal.mjs').Steps} steps
 * @param {{ engine: boolean, images: boolean, clients?: boolean }} needs
 * @param {() => void} [toolsReady] called once the Debian packages are there
 */
export async function prepareMachine(steps, needs, toolsReady = () => {}) {
  const missing = missingPackages(needs);
  const ready = dependenciesInstalled();
  // Both wait for the network most of the time, so they go side by side.
  const titles = [missing.length > 0 ? 'Debian packages' : '', ready ? '' : 'npm ci'].filter(Boolean);
  if (missing.length > 0) steps.say(`  missing: ${missing.join(', ')}`);
  if (titles.length > 0) {
    await steps.step(titles.join(', '), async (note) => {
      const packages = missing.length > 0 ? installPackages(missing, note) : Promise.resolve();
      const dependencies = ready ? Promise.resolve() : installDependencies(note);
      const both = await Promise.allSettled([packages.then(toolsReady), dependencies]);
      for (const part of both) if (part.status === 'rejected') throw part.reason;
    });
  } else toolsReady();
  if (!isBuilt()) await steps.step('build', async () => `${(await build()).compiled} files compiled`);
}

/** Images that can be built before node_modules is there. */
const INDEPENDENT_IMAGES = ['java', 'python', 'debian/12'];

/** Builds the images that are not in the cache yet. It takes the longest of all, so it runs beside other steps. */
export class ImageBuild {
  /** @param {import('./layout.mjs').Layout} layout */
  constructor(layout) {
    this.folder = layout.images;
    this.last = '';
    this.abort = new AbortController();
    /** @type {Promise<unknown>} */
    this.done = Promise.resolve();
  }

  /** Begins with what needs nothing but the Debian tools. */
  start() {
    this.done = this.run(INDEPENDENT_IMAGES);
    // Whoever waits for it later gets the failure; until then it is not unhandled.
    this.done.catch(() => {});
  }

  /** Goes on with the others, which take parts from node_modules. */
  continue() {
    this.done = this.done.then(() => this.run([]));
    this.done.catch(() => {});
  }

  /** @param {(text: string) => void} note */
  async wait(note) {
    const timer = setInterval(() => note(this.last), 200);
    try {
      await this.done;
    } finally {
      clearInterval(timer);
    }
  }

  /** Ends it; the images that are complete stay for the next attempt. */
  abandon() {
    this.abort.abort();
  }

  /** @param {string[]} names */
  run(names) {
    const script = join(REPOSITORY, 'images', 'build.mjs');
    return run(process.execPath, [script, '--out', this.folder, ...names], {
      title: 'building the runtime images',
      advice: 'check that the Debian mirror and the npm registry can be reached, then run the command again',
      onLine: (line) => (this.last = line),
      signal: this.abort.signal,
    });
  }
}

/** Changes when the images would. */
export function imagesRevision() {
  const hash = createHash('sha256');
  for (const file of filesIn(join(REPOSITORY, 'images')).sort()) hash.update(file).update(readFileSync(file));
  return hash.digest('hex');
}

/** @param {string} folder @returns {string[]} */
function filesIn(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return filesIn(path);
    return entry.isFile() ? [path] : [];
  });
}
