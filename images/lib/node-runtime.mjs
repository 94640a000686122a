import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './run.mjs';

const images = join(dirname(fileURLToPath(import.meta.url)), '..');
const modules = join(images, '..', 'node_modules');

/** The Node that the platform itself runs on, as the npm package `node` installed it. */
export async function nodeBinary() {
  const { version } = JSON.parse(await readFile(join(modules, 'node', 'package.json'), 'utf8'));
  return { version, file: join(modules, 'node', 'bin', 'node') };
}

/** npm as pinned with its hash in `images/nodejs/package-lock.json`. */
export async function installNpm(root) {
  const work = await mkdtemp(join(tmpdir(), 'berth-npm-'));
  try {
    for (const file of ['package.json', 'package-lock.json']) await cp(join(images, 'nodejs', file), join(work, file));
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--no-bin-links'], { cwd: work });
    const target = join(root, 'usr/local/lib/node_modules/npm');
    await mkdir(dirname(target), { recursive: true });
    await cp(join(work, 'node_modules/npm'), target, { recursive: true });
    for (const folder of ['docs', 'man']) await rm(join(target, folder), { recursive: true, force: true });
    for (const name of ['npm', 'npx']) {
      await symlink(`../lib/node_modules/npm/bin/${name}-cli.js`, join(root, 'usr/local/bin', name));
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
