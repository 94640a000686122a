import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import WebSocket from 'ws';
import { BenchBerth, until } from './support/berth.mjs';

const CLIENTS = 20;
const RATE = 2000;
const SECONDS = 10;
const PROGRAM = readFileSync(join(import.meta.dirname, 'support', 'printer.py')).toString('base64');

export const name = `console: ${RATE} lines/s to ${CLIENTS} clients`;

export async function run(ctx) {
  const berth = await BenchBerth.start(ctx.env);
  try {
    const id = await printer(berth);
    const clients = await Promise.all(Array.from({ length: CLIENTS }, () => enter(berth, id)));
    const before = processorSeconds(berth.child.pid);
    const started = performance.now();
    clients[0].send('send command', `${RATE} ${SECONDS}`);
    await until(() => clients.every((client) => client.over), SECONDS + 60);
    const elapsed = (performance.now() - started) / 1000;
    const share = ((processorSeconds(berth.child.pid) - before) / elapsed) * 100;
    const faults = clients.reduce((sum, client) => sum + client.faults + Math.abs(client.next - RATE * SECONDS), 0);
    const delays = clients.flatMap((client) => client.delays).sort((a, b) => a - b);
    const quantile = (part) => delays[Math.floor(delays.length * part)];
    for (const client of clients) client.close();
    const row = (what, unit, ours, target) => ({ what, unit, ours, yardstick: null, ratio: null, target });
    return [
      row(`lines lost or reordered of ${RATE * SECONDS * CLIENTS}`, 'lines', faults, '<= 0'),
      row('delay from print to client, median', 'ms', quantile(0.5), ''),
      row('delay from print to client, p99', 'ms', quantile(0.99), '<= 250'),
      row('processor of the platform', '% of a core', share, ''),
    ];
  } finally {
    await berth.stop();
  }
}

/** A service that runs the printing program. */
async function printer(berth) {
  const { id } = await berth.call('POST', '/servers', {
    name: 'console',
    runtime: 'PYTHON',
    ram: 256,
    disk: 1024,
    cpu: 100,
  });
  await berth.call('GET', `/servers/${id}?waitFor=RUNNING&timeout=60`);
  const { jobId } = await berth.call('POST', `/servers/${id}/exec`, {
    command: `echo ${PROGRAM} | base64 -d > main.py`,
  });
  await berth.call('GET', `/servers/${id}/exec/${jobId}?waitFor=DONE&timeout=30`);
  const { operationId } = await berth.call('POST', `/servers/${id}/power`, { signal: 'restart' });
  await berth.call('GET', `/operations/${operationId}?waitFor=DONE&timeout=60`);
  return id;
}

async function enter(berth, id) {
  const { token, socket } = await berth.call('GET', `/servers/${id}/console`);
  const connection = new WebSocket(socket, { perMessageDeflate: false });
  const client = {
    next: 0,
    faults: 0,
    delays: [],
    over: false,
    ready: false,
    send: (event, text) => connection.send(JSON.stringify({ event, args: [text] })),
    close: () => connection.terminate(),
  };
  connection.on('open', () => client.send('auth', token));
  connection.on('message', (data) => {
    const { event, args } = JSON.parse(data);
    if (event === 'status') client.ready = true;
    if (event === 'console output') take(client, args[0]);
  });
  await until(() => client.ready);
  return client;
}

function take(client, line) {
  const [word, number, at] = line.split(' ');
  if (word === 'over') client.over = true;
  if (word !== 'line') return;
  if (Number(number) !== client.next) client.faults++;
  client.next = Number(number) + 1;
  client.delays.push(Date.now() - Number(at) * 1000);
}

/** Processor time that a process has used. */
function processorSeconds(pid) {
  const [, rest] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const fields = rest.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
