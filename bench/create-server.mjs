import { BenchBerth, median } from './support/berth.mjs';
import { RawEngine } from './support/raw-engine.mjs';

const ROUNDS = 5;
const MANY = 20;
const WANTED = { runtime: 'NODEJS', ram: 256, disk: 1024, cpu: 100 };

export const name = 'POST /servers to RUNNING against the engine alone';

export async function run(ctx) {
  const berth = await BenchBerth.start(ctx.env);
  const raw = new RawEngine(ctx.env);
  try {
    await raw.learn(await hosted(berth, 'pattern'));
    const single = { ours: [], yardstick: [] };
    for (let round = 0; round < ROUNDS; round++) {
      single.ours.push(await timed(() => hosted(berth, `single-${round}`)));
      single.yardstick.push(await timed(() => raw.launch()));
    }
    await raw.removeAll();
    const oursMany = await timed(() => many((n) => hosted(berth, `many-${n}`)));
    const rawMany = await timed(() => many(() => raw.launch()));
    return [
      row('one service', median(single.ours), median(single.yardstick)),
      row(`${MANY} services at once`, oursMany, rawMany),
    ];
  } finally {
    await raw.removeAll();
    await berth.stop();
  }
}

function row(what, ours, yardstick) {
  return { what, unit: 's', ours, yardstick, ratio: ours / yardstick, target: '<= 1.5' };
}

/** All of them to their end, so that nothing is still under way when the first failure is told. */
async function many(work) {
  const ends = await Promise.allSettled(Array.from({ length: MANY }, (_, n) => work(n)));
  const failed = ends.find(({ status }) => status === 'rejected');
  if (failed) throw failed.reason;
}

async function timed(work) {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1000;
}

async function hosted(berth, name) {
  const { id } = await berth.call('POST', '/servers', { ...WANTED, name });
  const { status } = await berth.call('GET', `/servers/${id}?waitFor=RUNNING,INSTALL_FAILED&timeout=60`);
  if (status !== 'RUNNING') {
    const { lastOperation } = await berth.call('GET', `/servers/${id}`);
    throw new Error(`the service ended up ${status}: ${JSON.stringify(lastOperation)}`);
  }
  return id;
}
