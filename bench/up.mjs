import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './support/berth.mjs';

const ROOT = join(import.meta.dirname, '..');
const execute = promisify(execFile);

export const name = 'npm run up on a fresh clone, and again';

/** From a clone with nothing in it: npm ci, build, images, databases, engine, platform. Debian packages are there. */
export async function run() {
  const folder = mkdtempSync(join(tmpdir(), 'berth-bench-up-'));
  const clone = join(folder, 'berth');
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    PORT: String(await freePort()),
    INTERNAL_PORT: String(await freePort()),
    METRICS_PORT: String(await freePort()),
    CDN_PORT: String(await freePort()),
  };
  const npm = (...args) => execute('npm', ['run', ...args], { cwd: clone, env, maxBuffer: 64 * 1024 * 1024 });
  const seconds = async () => {
    const started = performance.now();
    await npm('up', '--', '--detach');
    return (performance.now() - started) / 1000;
  };
  try {
    await execute('git', ['clone', '--quiet', ROOT, clone]);
    const cold = await seconds();
    const second = await seconds();
    return [
      { what: 'npm run up, fresh clone', unit: 's', ours: cold, yardstick: null, ratio: null, target: '<= 240' },
      { what: 'npm run up, again', unit: 's', ours: second, yardstick: null, ratio: null, target: '<= 5' },
    ];
  } finally {
    await npm('down', '--', '--purge').catch(() => {});
    rmSync(folder, { recursive: true, force: true });
  }
}
