import { loadavg } from 'node:os';
import { createConnection } from 'mysql2/promise';
import { Agent, request } from 'undici';
import { BenchBerth, median, until } from './support/berth.mjs';
import { DurableDatabase } from './support/durable-database.mjs';

/** As many as it takes for the code of both to be compiled: a platform runs for weeks. */
const WARM_UP = 1500;
const TIMES = 1000;

export const name =
  'SELECT 1 over the API, recorded durably in the activity, against mysql2 with a fresh connection for each';

export async function run(ctx) {
  const database = await DurableDatabase.start();
  const settings = { DATABASE_URL: database.url, ENGINE_URL: 'simulator:', ROLES: 'api,worker' };
  const berth = await BenchBerth.start({ ...ctx.env, ...settings });
  const agent = new Agent({ connections: 1 });
  try {
    await registerHost(berth, ctx.env);
    const { id, program } = await makeDatabase(berth, Number(ctx.env.TENANT_DATABASE_PORT));
    const headers = { authorization: `Bearer ${berth.key}`, 'content-type': 'application/json' };
    const url = `${berth.url}/api/v1/databases/${id}/query`;
    const ways = {
      ours: async () => {
        const answer = await request(url, { method: 'POST', headers, body: '{"sql":"SELECT 1"}', dispatcher: agent });
        const text = await answer.body.text();
        if (!text.includes('"rows":[[1]]')) throw new Error(`the statement was answered ${answer.statusCode}: ${text}`);
      },
      yardstick: async () => {
        const connection = await createConnection(program);
        await connection.query('SELECT 1');
        await connection.end();
      },
    };
    const times = { ours: [], yardstick: [] };
    // In turns, so that a noisy neighbour disturbs both alike.
    for (let turn = -WARM_UP; turn < TIMES; turn++) {
      for (const [who, way] of Object.entries(ways)) {
        const begin = performance.now();
        await way();
        if (turn >= 0) times[who].push(performance.now() - begin);
      }
    }
    const [ours, yardstick] = [median(times.ours), median(times.yardstick)];
    const load = loadavg()[0].toFixed(1);
    return [
      { what: 'SELECT 1 over the API, median', unit: 'ms', ours, yardstick, ratio: ours / yardstick, target: '' },
      {
        what: `what the API adds to it, median (load ${load})`,
        unit: 'ms',
        ours: ours - yardstick,
        yardstick: null,
        ratio: null,
        target: '<= 2',
      },
    ];
  } finally {
    await agent.close();
    await berth.stop();
    await database.stop();
  }
}

async function registerHost(berth, env) {
  const [port, user, file] = [env.TENANT_DATABASE_PORT, env.TENANT_DATABASE_USER, env.TENANT_DATABASE_PASSWORD_FILE];
  const reached = ['--host', '127.0.0.1', '--port', port, '--user', user, '--password-file', file];
  await berth.cli('database-host', 'add', '--name', 'bench', ...reached, '--capacity', '10');
}

/** A database, and how its program would log in. */
async function makeDatabase(berth, port) {
  const wanted = { name: 'bench', runtime: 'nodejs', ram: 128, disk: 512, cpu: 25, withDatabase: true };
  const { id } = await berth.call('POST', '/servers', wanted);
  await until(async () => (await berth.call('GET', `/servers/${id}`)).status === 'RUNNING');
  const [entry] = await berth.call('GET', '/databases');
  const { database, username: user, password } = await berth.call('GET', `/servers/${id}/db-connection`);
  return { id: entry.id, program: { host: '127.0.0.1', port, user, password, database } };
}
