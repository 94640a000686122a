import type { RowDataPacket } from 'mysql2';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { DatabaseSession } from '../../../src/drivers/database-host/database-host.js';
import { MariaDbSession } from '../../../src/drivers/database-host/mariadb/mariadb-session.js';
import type { Api } from '../../support/api.js';
import { startBerth, type Berth } from '../../support/app.js';
import { tenantHost, tenantLink } from '../../support/database-host.js';
import { until } from '../../support/until.js';
import { asHost, makeDatabase, query, run, type TestDatabaseOf } from './support.js';

let berth: Berth;
let api: Api;
let own: TestDatabaseOf;

beforeAll(async () => {
  berth = await startBerth();
  ({ api } = await berth.makeAccount());
  own = await makeDatabase(api);
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
      expect(buffersInUse() - begin).toBeLessThan(20_000_000);
    } finally {
      await end(id);
      await session.close();
    }
    await expect(running).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('however many there are, they have so many columns and no more', async () => {
    const { id } = own;
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
