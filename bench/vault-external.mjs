import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BenchBerth, median } from './support/berth.mjs';
import { DurableDatabase } from './support/durable-database.mjs';

const SUPPORT = join(import.meta.dirname, 'support');
const ROUNDS = 5;
const SECONDS = 4;
// Long, as the path is: what the engine has not compiled yet is slow.
const WARM_UP_SECONDS = 15;
const execute = promisify(execFile);

export const name =
  'GET /vault/v1/secrets with 10 secrets, every read recorded durably, against a bare Node HTTP server';

export async function run(ctx) {
  const database = await DurableDatabase.start();
  const berth = await BenchBerth.start({ ...ctx.env, DATABASE_URL: database.url }, { ROLES: 'api,worker' });
  const secrets = {};
  const { id } = await berth.call('POST', '/servers', {
    name: 'bench',
    runtime: 'nodejs',
    ram: 128,
    disk: 512,
    cpu: 25,
  });
  for (let n = 0; n < 10; n++) {
    secrets[`SECRET_NUMBER_${n}`] = `${n}`.repeat(40);
    await berth.call('PUT', `/servers/${id}/vault`, { key: `SECRET_NUMBER_${n}`, value: `${n}`.repeat(40) });
  }
  const { token } = await berth.call('POST', `/servers/${id}/vault/token`, { addressLock: false });
  const bare = spawn(process.execPath, [join(SUPPORT, 'bare-http.mjs'), JSON.stringify(secrets)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, NODE_ENV: 'production' },
  });
  try {
    const [port] = await once(bare.stdout, 'data');
    const targets = {
      ours: `${berth.url}/vault/v1/secrets`,
      yardstick: `http://127.0.0.1:${String(port).trim()}/vault/v1/secrets`,
    };
    const found = { ours: [], yardstick: [] };
    let answered = 0;
    // In turns, so that a noisy neighbour disturbs both alike; the first round only warms up.
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [who, url] of Object.entries(targets)) {
        const load = await measure(url, token, round === 0 ? WARM_UP_SECONDS : SECONDS);
        if (who === 'ours') answered += load.requests;
        if (round > 0) found[who].push(load);
      }
    }
    const [{ recorded }] = await berth.query('SELECT COUNT(*) AS recorded FROM vault_reads');
    if (recorded < answered) throw new Error(`${answered} reads were answered and ${recorded} recorded`);
    const rate = (who) => median(found[who].map((load) => load.rate));
    const p99 = (who) => median(found[who].map((load) => load.p99));
    return [
      {
        what: 'vault: external GET secrets, 10 secrets, 32 connections',
        unit: 'requests/s',
        ours: rate('ours'),
        yardstick: rate('yardstick'),
        ratio: rate('ours') / rate('yardstick'),
        target: '>= 0.1',
      },
      {
        what: 'vault: external GET secrets, 99th percentile',
        unit: 'ms',
        ours: p99('ours'),
        yardstick: p99('yardstick'),
        ratio: null,
        target: '',
      },
    ];
  } finally {
    bare.kill();
    await berth.stop();
    await database.stop();
  }
}

async function measure(url, token, seconds) {
  const { stdout } = await execute(
    'wrk',
    ['-t1', '-c32', `-d${seconds}s`, '--latency', '-s', join(SUPPORT, 'authorized.lua'), url],
    { env: { PATH: process.env.PATH, BENCH_KEY: token } },
  );
  if (/Non-2xx/.test(stdout)) throw new Error(`some requests were refused:\n${stdout}`);
  const [, time, unit] = /99%\s+([\d.]+)(us|ms|s)/.exec(stdout);
  return {
    rate: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)[1]),
    requests: Number(/(?<!\d)(\d+) requests in/.exec(stdout)[1]),
    p99: Number(time) * { us: 0.001, ms: 1, s: 1000 }[unit],
  };
}
