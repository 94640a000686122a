import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BenchBerth, median, until } from './support/berth.mjs';

const ROUNDS = 3;
const SERVICE = { name: 'large', runtime: 'NODEJS', ram: 2048, disk: 4096, cpu: 400 };
const SAMPLE_MS = 20;
/** Where the plain tools put theirs: the root file system of a service is too small for it. */
const ARCHIVE = '/home/container/.archive';

/** 1 GB in 1,024 files, half of it as random as media, half of it as repetitive as text. */
const FILL = `
const { randomBytes } = require('node:crypto');
const { mkdirSync, writeFileSync } = require('node:fs');
const words = Array.from({ length: 4096 }, () => randomBytes(6).toString('hex'));
mkdirSync('data', { recursive: true });
for (let file = 0; file < 1024; file++) {
  const noise = randomBytes(524288);
  let text = '';
  for (const byte of randomBytes(80000)) { text += words[byte * 16 + (text.length & 15)] + ' '; if (text.length > 524288) break; }
  writeFileSync('data/' + file, Buffer.concat([noise, Buffer.from(text.slice(0, 524288))]));
}
`;

export const name = 'Backup of a service of 1 GB against tar and zstd in its own container';

export async function run(ctx) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-bench-objects-'));
  const berth = await BenchBerth.start(ctx.env, {
    OBJECT_STORE_URL: pathToFileURL(join(folder, 'objects')).href,
    WORKSHOP_SOCKET_DIR: join(folder, 'sockets'),
  });
  const { createEngine } = await import('../dist/src/drivers/engine/engine.factory.js');
  const engine = createEngine({ url: ctx.env.ENGINE_URL, project: ctx.env.ENGINE_PROJECT, pool: ctx.env.ENGINE_POOL });
  try {
    await berth.cli('plan', 'set', 'pro', 'backups=100');
    const id = await largeService(berth);
    const instance = id.replace('_', '-');
    await backUp(berth, id);
    const times = { ours: [], yardstick: [], warm: [] };
    const growth = [];
    for (let round = 0; round < ROUNDS; round++) {
      const before = residentMb(berth);
      const memory = watchPeak(berth);
      times.ours.push(await backUp(berth, id));
      growth.push(memory.stop() - before);
      times.warm.push(await pack(engine, instance));
      await forgetFiles(engine, instance);
      times.yardstick.push(await pack(engine, instance));
    }
    const [ours, yardstick, warm] = [times.ours, times.yardstick, times.warm].map(median);
    const grown = Math.max(0, median(growth));
    return [
      { what: 'backup of 1 GB in 1,024 files', unit: 's', ours, yardstick, ratio: ours / yardstick, target: '<= 1.5' },
      {
        what: '  against tools that find the files in memory',
        unit: 's',
        ours,
        yardstick: warm,
        ratio: ours / warm,
        target: '',
      },
      { what: 'memory growth meanwhile', unit: 'MB', ours: grown, yardstick: 64, ratio: grown / 64, target: '<= 1' },
    ];
  } finally {
    await engine.close();
    await berth.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function largeService(berth) {
  const { id } = await berth.call('POST', '/servers', SERVICE);
  await berth.call('GET', `/servers/${id}?waitFor=RUNNING,INSTALL_FAILED&timeout=60`);
  const packed = Buffer.from(FILL).toString('base64');
  const value = `echo ${packed} | base64 -d > fill.js && node fill.js && sync`;
  await berth.call('PATCH', `/servers/${id}/variables/INSTALL_COMMAND`, { value });
  const { operationId } = await berth.call('POST', `/servers/${id}/reinstall`);
  await until(async () => {
    const { status, error } = await berth.call('GET', `/operations/${operationId}?waitFor=DONE,FAILED&timeout=60`);
    if (status === 'FAILED') throw new Error(`the files could not be made: ${JSON.stringify(error)}`);
    return status === 'DONE';
  }, 300);
  return id;
}

/** Seconds from the request to a backup that is complete. */
async function backUp(berth, id) {
  const started = performance.now();
  const { uuid } = await berth.call('POST', `/servers/${id}/backups`);
  await until(async () => {
    const { status } = await berth.call('GET', `/servers/${id}/backups/${uuid}?waitFor=READY,FAILED&timeout=60`);
    if (status === 'FAILED') throw new Error('the backup failed');
    return status === 'READY';
  }, 300);
  const seconds = (performance.now() - started) / 1000;
  await berth.call('DELETE', `/servers/${id}/backups/${uuid}`);
  // A backup is complete a moment before its operation has ended, and one at a time is made.
  await until(async () => (await berth.query('SELECT COUNT(*) AS n FROM server_backups'))[0].n === 0, 60);
  return seconds;
}

/** Seconds for the plain tools on the same files, with the archive on the disk at the end as well. */
async function pack(engine, instance) {
  const started = performance.now();
  await inService(
    engine,
    instance,
    `tar -C /home/container --exclude=.archive -cf - . | zstd -q -1 -o ${ARCHIVE} && sync ${ARCHIVE}`,
  );
  const seconds = (performance.now() - started) / 1000;
  await inService(engine, instance, `rm ${ARCHIVE}`);
  return seconds;
}

/**
 * Has the kernel forget what it holds of the service's files. A backup reads a copy of the volume, of which nothing is in
 * memory; tools that find all of it there are spared the disk.
 */
async function forgetFiles(engine, instance) {
  const forget = 'dd iflag=nocache count=0 status=none if="$1"';
  await inService(engine, instance, `find /home/container -type f -exec sh -c '${forget}' - {} ';'`);
}

async function inService(engine, instance, script) {
  const session = await engine.exec(instance, {
    command: ['/bin/sh', '-c', script],
    user: 0,
    group: 0,
    cwd: '/',
    environment: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
  });
  for (const stream of [session.stdout, session.stderr]) stream.resume();
  session.stdin.end();
  const code = await session.exit;
  if (code !== 0) throw new Error(`${script} ended with ${code}`);
}

function residentMb({ child }) {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]) / 1024;
}

function watchPeak(berth) {
  let peak = 0;
  const look = () => (peak = Math.max(peak, residentMb(berth)));
  look();
  const timer = setInterval(look, SAMPLE_MS);
  return {
    stop: () => {
      clearInterval(timer);
      look();
      return peak;
    },
  };
}
