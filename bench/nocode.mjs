import { loadavg } from 'node:os';
import { createConnection } from 'mysql2/promise';
import { Agent, request } from 'undici';
import { BenchBerth, median } from './support/berth.mjs';
import { DurableDatabase } from './support/durable-database.mjs';

const BYTES = 1_048_576;
const TIMES = 60;
// Until what runs often is compiled.
const WARM_UP = 150;
// More than are kept unpacked.
const PROJECTS = 40;

export const name = 'a project of 1 MB against a bare insert and select';

export async function run(ctx) {
  const database = await DurableDatabase.start();
  const berth = await BenchBerth.start({
    ...ctx.env,
    DATABASE_URL: database.url,
    ENGINE_URL: 'simulator:',
    ROLES: 'api',
  });
  const agent = new Agent({ connections: 1 });
  const bare = await createConnection({ uri: berth.env.DATABASE_URL });
  try {
    const data = document();
    const { id } = await berth.call('POST', '/nocode/projects', { name: 'bench', data });
    await berth.cli('plan', 'set', 'pro', `nocodeProjects=${PROJECTS}`);
    const ids = [id];
    while (ids.length < PROJECTS) ids.push((await berth.call('POST', `/nocode/projects/${id}/duplicate`)).id);
    const headers = { authorization: `Bearer ${berth.key}`, 'content-type': 'application/json' };
    const send = async (method, id, body) => {
      const url = `${berth.url}/api/v1/nocode/projects/${id}`;
      const answer = await request(url, { method, headers, body, dispatcher: agent });
      const bytes = Buffer.from(await answer.body.arrayBuffer());
      if (answer.statusCode !== 200)
        throw new Error(`${method} answered ${answer.statusCode}: ${bytes.subarray(0, 300)}`);
      return bytes;
    };
    await bare.query('CREATE TABLE bare (id int PRIMARY KEY AUTO_INCREMENT, data longtext NOT NULL)');
    const [{ insertId }] = await bare.query('INSERT INTO bare (data) VALUES (?)', [data]);
    const select = () => bare.query('SELECT data FROM bare WHERE id = ?', [insertId]);
    // What is asked of the client after a load is no work of ours.
    const check = (got) => (Buffer.isBuffer(got) ? JSON.parse(got.toString()) : got[0][0]).data === data;
    let turn = 0;
    const ways = {
      save: {
        target: '<= 3',
        ours: () => send('PATCH', id, JSON.stringify({ data })),
        yardstick: () => bare.query('INSERT INTO bare (data) VALUES (?)', [data]),
        check: () => undefined,
      },
      load: { target: '<= 3', ours: () => send('GET', id), yardstick: select, check },
      'load, not read of late,': { ours: () => send('GET', ids[turn++ % PROJECTS]), yardstick: select, check },
    };
    const rows = [];
    for (const [what, { check, target, ...both }] of Object.entries(ways)) {
      const times = { ours: [], yardstick: [] };
      // In turns, so that a noisy neighbour disturbs both alike.
      for (let turn = -WARM_UP; turn < TIMES; turn++) {
        for (const [who, way] of Object.entries(both)) {
          const begin = performance.now();
          const got = await way();
          if (turn >= 0) times[who].push(performance.now() - begin);
          if (check(got) === false) throw new Error('it is another document');
        }
      }
      const [ours, yardstick] = [median(times.ours), median(times.yardstick)];
      const load = loadavg()[0].toFixed(1);
      rows.push({
        what: `${what} 1 MB over the API, median (load ${load})`,
        ...{ unit: 'ms', ours, yardstick, ratio: ours / yardstick, target },
      });
    }
    return rows;
  } finally {
    await bare.end();
    await agent.close();
    await berth.stop();
    await database.stop();
  }
}

/** What a builder saves: many small blocks with texts and numbers that differ. */
function document() {
  const blocks = [];
  for (let size = 0, at = 0; size < BYTES - 400; at++) {
    const text = Array.from({ length: 12 }, (_, word) => ((at * 2654435761 + word * 40503) >>> 7).toString(36)).join(
      ' ',
    );
    const block = {
      id: `block-${at}`,
      kind: ['text', 'image', 'form'][at % 3],
      text,
      box: [at % 997, at % 13, 1 / (at + 1)],
    };
    blocks.push(block);
    size += Buffer.byteLength(JSON.stringify(block)) + 1;
  }
  const json = JSON.stringify({ version: 1, blocks, rest: '' });
  return json.replace(/""}$/, `"${'x'.repeat(BYTES - Buffer.byteLength(json))}"}`);
}
