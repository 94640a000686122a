import { readFileSync } from 'node:fs';
import { BenchBerth } from './support/berth.mjs';

const SETTLE_MS = 20_000;

export const name = 'Memory of the idle platform';

export async function run(ctx) {
  const berth = await BenchBerth.start(ctx.env);
  try {
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    const status = readFileSync(`/proc/${berth.child.pid}/status`, 'utf8');
    const ours = Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024;
    return [
      { what: 'all roles in one process, idle', unit: 'MB', ours, yardstick: 250, ratio: ours / 250, target: '<= 1' },
    ];
  } finally {
    await berth.stop();
  }
}
