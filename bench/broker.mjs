import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BenchBerth, freePort, median, until } from './support/berth.mjs';
import { DurableDatabase } from './support/durable-database.mjs';
import { RawEngine } from './support/raw-engine.mjs';

const ROUNDS = 5;
const SECONDS = 4;
/** Until what runs often is compiled: the control plane is asked for whole groups of reads, two hundred times a second. */
const WARM_UP_SECONDS = 45;
const SECRETS = 10;
/** Programs with eight workers each. */
const SERVICES = 4;
const CONNECTIONS = 8;
const MAIN = join(import.meta.dirname, '..', 'dist', 'src', 'main.js');
const execute = promisify(execFile);

export const name = `GET /v1/secrets with ${SECRETS} secrets from inside services, every read recorded durably, against a bare Node HTTP server`;

export async function run(ctx) {
  const brokerPort = await freePort();
  const settings = { BROKER_PORT: String(brokerPort), BROKER_READS_PER_MINUTE: '1000000' };
  const database = await DurableDatabase.start();
  const berth = await BenchBerth.start(
    { ...ctx.env, DATABASE_URL: database.url },
    { ...settings, ROLES: 'api,worker,node' },
  );
  const gateway = ctx.env.APP_SUBNET.split('/')[0];
  const children = [];
  try {
    children.push(
      spawn(process.execPath, [MAIN], {
        env: { ...berth.env, ROLES: 'broker', METRICS_PORT: String(await freePort()) },
        cwd: berth.folder,
        stdio: 'ignore',
      }),
    );
    const engine = new RawEngine(ctx.env);
    const ids = await Promise.all(Array.from({ length: SERVICES }, (_, number) => service(berth, number)));
    const networks = await Promise.all(ids.map((id) => engine.networkOf(id)));
    const url = `http://${gateway}:${brokerPort}/v1/secrets`;
    const body = await until(() => answer(networks[0], url));
    const bare = spawn(process.execPath, [join(import.meta.dirname, 'support', 'bare-http.mjs'), body, gateway], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { PATH: process.env.PATH, NODE_ENV: 'production' },
    });
    children.push(bare);
    const [port] = await once(bare.stdout, 'data');
    const targets = { ours: url, yardstick: `http://${gateway}:${String(port).trim()}/v1/secrets` };
    const rates = { ours: [], yardstick: [] };
    const slow = { ours: [], yardstick: [] };
    const before = await recorded(berth);
    let served = 0;
    // In turns, so that a noisy neighbour disturbs both alike; the first round only warms up.
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [who, target] of Object.entries(targets)) {
        const { rate, p99, count } = await load(networks, target, round === 0 ? WARM_UP_SECONDS : SECONDS);
        if (who === 'ours') served += count;
        if (round === 0) continue;
        rates[who].push(rate);
        slow[who].push(p99);
      }
    }
    // What was answered when the load ended was counted by nobody, so there may be a few more.
    const records = (await recorded(berth)) - before;
    if (records < served) throw new Error(`${served} reads were answered and ${records} recorded`);
    const ours = median(rates.ours);
    const yardstick = median(rates.yardstick);
    return [
      {
        what: `GET /v1/secrets, each recorded, ${SERVICES * CONNECTIONS} connections`,
        unit: 'requests/s',
        ours,
        yardstick,
        ratio: ours / yardstick,
        target: '>= 0.1',
      },
      {
        what: 'its p99',
        unit: 'ms',
        ours: median(slow.ours),
        yardstick: median(slow.yardstick),
        ratio: null,
        target: '',
      },
    ];
  } finally {
    for (const child of children) child.kill();
    await berth.stop();
    await database.stop();
  }
}

async function service(berth, number) {
  const wanted = { name: `reader-${number}`, runtime: 'NODEJS', ram: 256, disk: 1024, cpu: 100 };
  const { id } = await berth.call('POST', '/servers', wanted);
  for (let secret = 0; secret < SECRETS; secret++)
    await berth.call('PUT', `/servers/${id}/vault`, {
      key: `SECRET_${secret}`,
      value: `value-${secret}-`.padEnd(40, 'x'),
    });
  await until(async () => {
    const { status } = await berth.call('GET', `/servers/${id}?waitFor=RUNNING,INSTALL_FAILED&timeout=30`);
    if (status === 'INSTALL_FAILED') throw new Error('a service could not be made');
    return status === 'RUNNING';
  }, 120);
  return id;
}

/** Null while the broker does not know the service. */
async function answer(network, url) {
  const { stdout } = await inNetwork(network, 'curl', ['-s', '-w', '%{stderr}%{http_code}', url]).catch(() => ({}));
  return stdout?.startsWith('{"SECRET_0"') ? stdout : null;
}

async function recorded(berth) {
  return Number((await berth.query('SELECT COUNT(*) AS n FROM vault_reads WHERE refused IS NULL'))[0].n);
}

/** All services at the same time; the slowest one's p99. */
async function load(networks, url, seconds) {
  const outputs = await Promise.all(
    networks.map((network) =>
      inNetwork(network, 'wrk', ['-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '--latency', url]),
    ),
  );
  const texts = outputs.map(({ stdout }) => stdout);
  const refused = texts.find((text) => /Non-2xx|Socket errors/.test(text));
  if (refused) throw new Error(`some requests were refused:\n${refused}`);
  return {
    rate: texts.reduce((sum, text) => sum + Number(/Requests\/sec:\s+([\d.]+)/.exec(text)[1]), 0),
    count: texts.reduce((sum, text) => sum + Number(/(?<!\d)(\d+) requests in/.exec(text)[1]), 0),
    p99: Math.max(...texts.map((text) => milliseconds(/99%\s+([\d.]+)(us|ms|s)/.exec(text)))),
  };
}

function milliseconds([, value, unit]) {
  return Number(value) * { us: 0.001, ms: 1, s: 1000 }[unit];
}

/** Runs a program of this machine as if from inside a container. */
function inNetwork(pid, program, args) {
  return execute('nsenter', ['-t', String(pid), '-n', program, ...args]);
}
