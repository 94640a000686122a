import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BenchBerth, median } from './support/berth.mjs';
import { DurableDatabase } from './support/durable-database.mjs';
import { Nginx } from './support/nginx.mjs';

const MEGABYTES = 256;
const SMALL_BYTES = 16 * 1024;
const SMALL_COUNT = 10_000;
/** The first large writes find memory that a virtual machine has not used yet, and take twice as long for it. */
const ROUNDS = { large: 9, small: 3 };
const SECONDS = 4;
const SAMPLE_MS = 20;
const OBJECTS_LUA = join(import.meta.dirname, 'support', 'objects.lua');
const execute = promisify(execFile);

export const name = `Objects: ${MEGABYTES} MB and ${SMALL_COUNT} of 16 KB against nginx on the same disk`;

export async function run(ctx) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-bench-storage-'));
  // What is answered is on the disk, the rows included.
  const database = await DurableDatabase.start();
  const berth = await BenchBerth.start(
    { ...ctx.env, DATABASE_URL: database.url },
    { ROLES: 'api,worker', OBJECT_STORE_URL: `file://${join(folder, 'objects')}` },
  );
  const nginx = await Nginx.start(folder);
  try {
    await berth.cli('plan', 'set', 'pro', 'storageBytes=100000000000');
    const { id } = await berth.call('POST', '/storage/buckets', { name: 'bench', isPublic: true });
    const large = join(folder, 'large');
    await execute('dd', ['if=/dev/urandom', `of=${large}`, 'bs=1M', `count=${MEGABYTES}`, 'status=none']);
    return [...(await largeOnes({ berth, nginx, id, large })), ...(await smallOnes({ berth, nginx, id, folder }))];
  } finally {
    await nginx.stop();
    await berth.stop();
    await database.stop();
    rmSync(folder, { recursive: true });
  }
}

async function largeOnes({ berth, nginx, id, large }) {
  const put = `${berth.url}/api/v1/storage/buckets/${id}/objects?key=large`;
  const get = `${berth.env.CDN_URL}/storage/public/${id}/large`;
  const work = {
    'put ours': () => curl(berth, '-T', large, put),
    // Ours is on the disk before it is answered; WebDAV leaves that to later.
    'put theirs': async () => {
      await curl(berth, '-T', large, `${nginx.url}/large`);
      await execute('sync', [join(nginx.files, 'large')]);
    },
    'get ours': () => curl(berth, get),
    'get theirs': () => curl(berth, `${nginx.url}/large`),
  };
  const seconds = Object.fromEntries(Object.keys(work).map((what) => [what, []]));
  const growth = { put: [], get: [] };
  // In turns, so that a noisy neighbour disturbs both alike; the first round only warms up.
  for (let round = 0; round <= ROUNDS.large; round++) {
    for (const [what, step] of Object.entries(work)) {
      const [verb, who] = what.split(' ');
      const memory = watchMemory(berth);
      const began = performance.now();
      await step();
      if (round > 0) seconds[what].push((performance.now() - began) / 1000);
      const grown = memory.stop();
      if (round > 0 && who === 'ours') growth[verb].push(grown);
    }
  }
  return ['put', 'get'].flatMap((verb) => {
    const [ours, yardstick] = ['ours', 'theirs'].map((who) => MEGABYTES / median(seconds[`${verb} ${who}`]));
    const grown = Math.max(...growth[verb]);
    const what = `${verb.toUpperCase()} of ${MEGABYTES} MB`;
    return [
      { what, unit: 'MB/s', ours, yardstick, ratio: ours / yardstick, target: '>= 0.6' },
      { what: `memory growth in a ${what}`, unit: 'MB', ours: grown, yardstick: 64, ratio: grown / 64, target: '<= 1' },
    ];
  });
}

async function smallOnes({ berth, nginx, id, folder }) {
  const content = join(folder, 'small');
  writeFileSync(content, Buffer.alloc(SMALL_BYTES, 'x'));
  const objects = `/api/v1/storage/buckets/${id}/objects?key=`;
  const open = `/storage/public/${id}/`;
  const load = {
    'put ours': () => wrk(berth, berth.url, 'PUT', objects, SMALL_BYTES),
    'put theirs': () => wrk(berth, nginx.url, 'PUT', '/', SMALL_BYTES),
    'get ours': () => wrk(berth, berth.env.CDN_URL, 'GET', open, 0),
    'get theirs': () => wrk(berth, nginx.url, 'GET', '/', 0),
  };
  // All of them are there before any is asked for.
  await everyOne((number) => `${berth.url}${objects}${number}`, content, berth);
  await everyOne((number) => `${nginx.url}/${number}`, content, berth);
  const rates = Object.fromEntries(Object.keys(load).map((what) => [what, []]));
  for (let round = 0; round <= ROUNDS.small; round++) {
    for (const [what, step] of Object.entries(load)) {
      const rate = await step();
      if (round > 0) rates[what].push(rate);
    }
  }
  return ['put', 'get'].map((verb) => {
    const [ours, yardstick] = ['ours', 'theirs'].map((who) => median(rates[`${verb} ${who}`]));
    const what = `${verb.toUpperCase()} of ${SMALL_COUNT} x 16 KB, 32 connections`;
    const target = verb === 'get' ? '>= 0.25' : '';
    return { what, unit: 'requests/s', ours, yardstick, ratio: ours / yardstick, target };
  });
}

async function curl({ key, folder }, ...args) {
  // A command line can be read by everybody on the machine.
  const config = join(folder, 'curl');
  writeFileSync(config, `header = "Authorization: Bearer ${key}"\nheader = "Expect:"\n`, { mode: 0o600 });
  await execute('curl', ['-sS', '--fail', '-K', config, '-o', '/dev/null', ...args], { maxBuffer: 1 << 20 });
}

async function everyOne(urlOf, file, { key }) {
  const body = readFileSync(file);
  let next = 0;
  const work = async () => {
    while (next < SMALL_COUNT) {
      const response = await fetch(urlOf(next++), { method: 'PUT', body, headers: { authorization: `Bearer ${key}` } });
      await response.arrayBuffer();
      if (!response.ok) throw new Error(`a small object was answered ${response.status}`);
    }
  };
  await Promise.all(Array.from({ length: 32 }, work));
}

async function wrk({ key }, url, method, before, bytes) {
  const args = ['-t1', '-c32', `-d${SECONDS}s`, '-s', OBJECTS_LUA, url, '--', method, before, '', SMALL_COUNT, bytes];
  const { stdout } = await execute('wrk', args.map(String), { env: { PATH: process.env.PATH, BENCH_KEY: key } });
  if (/Non-2xx/.test(stdout)) throw new Error(`some requests were refused:\n${stdout}`);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)[1]);
}

/** How much the process grows, in MB. */
function watchMemory({ child }) {
  const resident = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]) / 1024;
  const before = resident();
  let peak = before;
  const look = () => (peak = Math.max(peak, resident()));
  const timer = setInterval(look, SAMPLE_MS);
  return {
    stop: () => {
      clearInterval(timer);
      look();
      return peak - before;
    },
  };
}
