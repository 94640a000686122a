import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BenchBerth, median } from './support/berth.mjs';

const SUPPORT = join(import.meta.dirname, 'support');
const ROUNDS = 5;
const SECONDS = 4;
const execute = promisify(execFile);

export const name = 'GET /me against a bare Express handler';

export async function run(ctx) {
  const berth = await BenchBerth.start(ctx.env, { ROLES: 'api' });
  const me = await berth.call('GET', '/me');
  const bare = spawn(process.execPath, [join(SUPPORT, 'bare-server.mjs'), JSON.stringify(me)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, NODE_ENV: 'production' },
  });
  try {
    const [port] = await once(bare.stdout, 'data');
    const targets = { ours: `${berth.url}/api/v1/me`, yardstick: `http://127.0.0.1:${String(port).trim()}/me` };
    const rates = { ours: [], yardstick: [] };
    // In turns, so that a noisy neighbour disturbs both alike; the first round only warms up.
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [who, url] of Object.entries(targets)) {
        const rate = await load(url, berth.key, round === 0 ? 2 : SECONDS);
        if (round > 0) rates[who].push(rate);
      }
    }
    const ours = median(rates.ours);
    const yardstick = median(rates.yardstick);
    return [
      {
        what: 'GET /me, 32 connections',
        unit: 'requests/s',
        ours,
        yardstick,
        ratio: ours / yardstick,
        target: '>= 0.25',
      },
    ];
  } finally {
    bare.kill();
    await berth.stop();
  }
}

async function load(url, key, seconds) {
  const { stdout } = await execute(
    'wrk',
    ['-t1', '-c32', `-d${seconds}s`, '-s', join(SUPPORT, 'authorized.lua'), url],
    {
      env: { PATH: process.env.PATH, BENCH_KEY: key },
    },
  );
  if (/Non-2xx/.test(stdout)) throw new Error(`some requests were refused:\n${stdout}`);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)[1]);
}
