import type { RowDataPacket } from 'mysql2';
import type { Connection } from 'mysql2/promise';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { DatabaseSession } from '../../../src/drivers/database-host/database-host.js';
import { MariaDbSession } from '../../../src/drivers/database-host/mariadb/mariadb-session.js';
import type { Api } from '../../support/api.js';
import { startBerth, type Berth } from '../../support/app.js';
import { tenantHost, tenantLink } from '../../support/database-host.js';
import { until } from '../../support/until.js';
import { asHost, asTenant, makeDatabase, query, run, type TestDatabaseOf } from './support.js';

let berth: Berth;
let api: Api;
let other: Api;
let own: TestDatabaseOf[];
let theirs: TestDatabaseOf;

beforeAll(async () => {
  berth = await startBerth();
  [{ api }, { api: other }] = await Promise.all([berth.makeAccount(), berth.makeAccount()]);
  [theirs, ...own] = await Promise.all([makeDatabase(other), makeDatabase(api), makeDatabase(api), makeDatabase(api)]);
});
afterAll(() => berth?.close());

const columns = (count: number) => Array.from({ length: count }, () => '1').join();
const times = (count: number | string, statement: string, after = '') =>
  `BEGIN NOT ATOMIC DECLARE n INT DEFAULT 0; WHILE n < ${count} DO ${statement}; SET n = n + 1; END WHILE; ${after} END`;

describe('what a statement says of its results stays in bounds', () => {
  const options = () => ({
    account: tenantHost(),
    schema: 'information_schema',
    timeoutMs: 60_000,
    maxRows: 10_000,
    maxBytes: 1_048_576,
  });

  test('results that were read are not in memory any more', async () => {
    const begin = buffersInUse();
    const session = await tenantLink().open(options());
    const id = await idOf(session);
    const running = session.run(times(1000, "SELECT REPEAT('x', 65000) AS a", 'DO SLEEP(100);'));
    running.catch(() => undefined);
    try {
      await until('all is sent', async () => (await processes("state = 'User sleep' AND id = ?", [id])).length > 0);
      await until('little of it is held', async () => buffersInUse() - begin < 20_000_000);
    } finally {
      await end(id);
      await session.close();
    }
    await expect(running).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('however many there are, they have so many columns and no more', async () => {
    const [{ id }] = own as [TestDatabaseOf];
    const most = await run(api, id, times(12, `SELECT ${columns(4000)} LIMIT 0`));
    expect([most.resultSets.length, most.truncated]).toEqual([5, true]);
    const { body } = (await query(api, id, times(13, `SELECT ${columns(4000)} LIMIT 0`))).expect(400);
    expect(body.code).toBe('result_too_large');
    await noSessions([`q${id.slice(3)}`]);
  });

  test('nothing more is taken in of one that was broken off, even when the host cannot be told', async () => {
    const session = await MariaDbSession.open(tenantHost(), options(), async () => undefined);
    const id = await idOf(session);
    const endless = session.run(times('n + 1', `SELECT ${columns(4000)} LIMIT 0`));
    await expect(endless).rejects.toMatchObject({ code: 'too_much' });
    try {
      await until('the host notices', async () => (await processes('id = ?', [id])).length === 0);
    } finally {
      await end(id);
      await session.close();
    }
  });
});

test('an account’s statements take no more than its part of the places, however many databases it has', async () => {
  const waiting = own.flatMap(({ id }) => [id, id]);
  for (const { id } of own) await run(api, id, 'CREATE TABLE held (n int PRIMARY KEY) SELECT 1 AS n');
  const asked = await holding(own, async () => {
    const sent = waiting.map((id) => query(api, id, 'SELECT n FROM held FOR UPDATE'));
    let refused = 0;
    for (const answer of sent) void answer.then(({ status }) => (refused += Number(status === 429)));
    await until('some wait and the others are refused', async () => {
      return refused === 2 && (await processes("info LIKE '%held FOR UPDATE'")).length === 4;
    });
    expect((await run(other, theirs.id, 'SELECT 1 AS n')).rows).toEqual([[1]]);
    return sent;
  });
  const answers = await Promise.all(asked);
  const statuses = answers.map(({ status }) => status).sort();
  expect(statuses).toEqual([200, 200, 200, 200, 429, 429]);
  const refused = answers.find(({ status }) => status === 429)!;
  expect([refused.body.code, refused.header('retry-after')]).toEqual(['too_many_queries', '1']);
});

/** While the programs of these databases hold the one row there is in each. */
async function holding<T>([first, ...rest]: TestDatabaseOf[], work: () => Promise<T>): Promise<T> {
  if (!first) return work();
  return asTenant(first.connection, async (program: Connection) => {
    await program.query('START TRANSACTION');
    await program.query('SELECT n FROM held FOR UPDATE');
    return holding(rest, work);
  });
}

function processes(condition: string, values: unknown[] = []): Promise<RowDataPacket[]> {
  const sql = `SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND ${condition}`;
  return asHost(async (host) => (await host.query<RowDataPacket[]>(sql, values))[0]);
}

async function idOf(session: DatabaseSession): Promise<number> {
  const { resultSets } = await session.run('SELECT CONNECTION_ID()');
  return Number(resultSets[0]!.rows[0]![0]);
}

/** Whether or not it has ended by itself. */
async function end(id: number): Promise<void> {
  await asHost((host) => host.query(`KILL HARD CONNECTION ${id}`)).catch(() => undefined);
}

async function noSessions(users: string[]): Promise<void> {
  await until('no sessions', async () => (await processes('user IN (?)', [users])).length === 0);
}

/** Of this process, once what nobody holds is gone. */
function buffersInUse(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().arrayBuffers;
}
