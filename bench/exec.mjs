import WebSocket from 'ws';
import { BenchBerth, median } from './support/berth.mjs';
import { RawEngine } from './support/raw-engine.mjs';

const ROUNDS = 25;
const COMMAND = ['/bin/sh', '-c', 'echo done'];

export const name = "exec round trip against the engine's own exec";

export async function run(ctx) {
  const berth = await BenchBerth.start(ctx.env);
  const raw = new RawEngine(ctx.env);
  try {
    const { id } = await berth.call('POST', '/servers', {
      name: 'exec',
      runtime: 'NODEJS',
      ram: 256,
      disk: 1024,
      cpu: 100,
    });
    await berth.call('GET', `/servers/${id}?waitFor=RUNNING&timeout=60`);
    const times = { ours: [], yardstick: [] };
    for (let round = -3; round < ROUNDS; round++) {
      const [ours, yardstick] = [
        await timed(() => ourExec(berth, id)),
        await timed(() => rawExec(raw, id.replace('_', '-'))),
      ];
      if (round < 0) continue;
      times.ours.push(ours);
      times.yardstick.push(yardstick);
    }
    const [ours, yardstick] = [median(times.ours), median(times.yardstick)];
    return [
      { what: 'echo, POST to its output', unit: 'ms', ours, yardstick, ratio: ours / yardstick, target: '' },
      {
        what: 'the same, beyond the engine',
        unit: 'ms',
        ours: ours - yardstick,
        yardstick: null,
        ratio: null,
        target: '<= 50',
      },
    ];
  } finally {
    await berth.stop();
  }
}

async function timed(work) {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

async function ourExec(berth, id) {
  const { jobId } = await berth.call('POST', `/servers/${id}/exec`, { command: COMMAND[2] });
  const { stdout } = await berth.call('GET', `/servers/${id}/exec/${jobId}?waitFor=DONE,FAILED,TIMEOUT&timeout=30`);
  if (stdout !== 'done\n') throw new Error(`the command printed ${JSON.stringify(stdout)}`);
}

/** What any client of the engine would do for the same: streams, exit code, output. */
async function rawExec(raw, instance) {
  const body = {
    command: COMMAND,
    'wait-for-websocket': true,
    interactive: false,
    user: 1000,
    group: 1000,
    cwd: '/home/container',
  };
  const { metadata, operation } = await raw.send('POST', `/1.0/instances/${instance}/exec`, body);
  const fds = metadata.metadata.fds;
  let output = '';
  const sockets = ['control', '0', '1', '2'].map(
    (fd) =>
      new WebSocket(`ws+unix:${raw.socketPath}:${operation}/websocket?secret=${fds[fd]}`, { perMessageDeflate: false }),
  );
  sockets[2].on('message', (data, binary) => (output += binary ? data.toString() : ''));
  for (const socket of sockets) socket.on('error', () => {});
  sockets[1].on('open', () => sockets[1].send(''));
  const { metadata: ended } = await raw.send('GET', `${operation}/wait?timeout=30`);
  for (const socket of sockets) socket.terminate();
  if (ended.metadata.return !== 0 || output !== 'done\n')
    throw new Error(`the engine's exec printed ${JSON.stringify(output)}`);
}
