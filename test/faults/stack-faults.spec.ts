import type { Api } from '../support/api.js';
import type { RoleProcess } from '../support/role-process.js';
import { stack } from '../support/stack.js';
import { portProxies } from '../support/processes.js';
import { until } from '../support/until.js';
import { createServer, Hosting, onEngine, power, reach, type Server } from '../e2e/support/hosting.js';
import { Program } from '../e2e/support/program.js';

jest.setTimeout(180_000);

/** How many services are under way at each fault. */
const MANY = 12;
const FEW = 6;

/** The daemons below the platform go away in the middle of work. Every operation ends all the same, once in effect. */
onEngine('a backing part that fails in the middle of work', () => {
  let hosting: Hosting;
  let workers: RoleProcess[];
  let api: Api;
  let servers: Server[] = [];

  beforeAll(async () => {
    hosting = await Hosting.start({ roles: ['api', 'node'] });
    workers = await Promise.all([hosting.add(['worker']), hosting.add(['worker'])]);
    api = (await hosting.berth.makeAccount()).api;
  });

  afterAll(async () => {
    await Promise.all([stack.redis.start(), stack.mariadb.start(), stack.engine.start()]);
    await hosting?.close();
  });

  async function makeSome(count: number): Promise<Server[]> {
    const made = await Promise.all(Array.from({ length: count }, () => createServer(api)));
    servers.push(...made);
    return made;
  }

  /** Waits until some of them run and others do not yet. */
  async function inTheMiddle(made: Server[]): Promise<void> {
    await until(
      'the middle',
      async () => {
        const [row] = await hosting.rows<{ running: string | number }>(
          "SELECT COUNT(*) AS running FROM servers WHERE status = 'RUNNING' AND id IN (?)",
          [made.map(({ id }) => id)],
        );
        return Number(row!.running) >= 2;
      },
      60_000,
    );
  }

  /** Every service runs, each program was started by one operation, and nothing is there twice or without an owner. */
  async function allRun(): Promise<void> {
    await hosting.untilQuiet(120_000);
    const columns = 'id, type, status, error_code';
    expect(await hosting.rows(`SELECT ${columns} FROM operations WHERE status <> 'DONE'`)).toEqual([]);
    await Promise.all(servers.map(({ id }) => reach(api, id, 'RUNNING')));
    await hosting.expectExactly(servers.map(({ id }) => id));
    await Promise.all(servers.map(async (server) => expect(await new Program(server).text(20_000)).toContain('Hello')));
  }

  async function deleteAll(): Promise<void> {
    await Promise.all(servers.map(async ({ id }) => (await api.delete(`/servers/${id}`)).expect(204)));
    servers = [];
    await hosting.untilQuiet(60_000);
    await hosting.expectExactly([]);
    expect(await portProxies(`${hosting.berth.env.PUBLIC_ADDRESS}:`)).toEqual([]);
  }

  test(`Redis loses all it holds while ${MANY} services are made`, async () => {
    const made = await makeSome(MANY);
    await inTheMiddle(made);
    await stack.redis.flush();
    await allRun();
    const events = await hosting.rows<{ resource_id: string }>(
      "SELECT resource_id FROM activity_events WHERE event = 'server:install.complete'",
    );
    expect(events.map(({ resource_id }) => resource_id).sort()).toEqual(made.map(({ id }) => id).sort());
  });

  test('Redis is killed and comes back while they are deleted', async () => {
    const deleting = Promise.all(
      servers.slice(FEW).map(async ({ id }) => (await api.delete(`/servers/${id}`)).expect(204)),
    );
    servers = servers.slice(0, FEW);
    await stack.redis.kill();
    await deleting;
    // Without Redis the API still accepts: the rows are what counts.
    await power(api, servers[0]!.id, 'restart');
    expect((await hosting.berth.client('').get('/health/ready')).status).toBe(200);
    await stack.redis.start();
    await allRun();
  });

  test('a worker that is asked to end hands its work to the other', async () => {
    const made = await makeSome(FEW);
    await inTheMiddle(made);
    const [first] = workers;
    await first!.stop();
    await allRun();
    await first!.start();
    expect(first!.complaints()).not.toMatch(/LeaseLost/);
  });

  test('MariaDB is restarted in the middle', async () => {
    const made = await makeSome(FEW);
    await inTheMiddle(made);
    await stack.mariadb.restart();
    await until('the API is back', async () => (await api.get('/servers')).status === 200, 30_000);
    await allRun();
    await deleteAll();
  });

  test('the engine is killed in the middle of creates, and while programs run', async () => {
    // Only when it is tried once more: what the first try broke is not to break this one.
    if (servers.length > 0) await deleteAll();
    const [lasting] = await makeSome(1);
    await reach(api, lasting!.id, 'RUNNING');
    const made = await makeSome(FEW);
    await inTheMiddle(made);
    await stack.engine.kill();
    const late = await makeSome(1);
    await stack.engine.start();
    await reach(api, late[0]!.id, 'RUNNING', 60);
    await allRun();
    await stack.engine.kill();
    await until('health names the engine', async () => {
      const { body } = await hosting.berth.client('').get('/health/ready');
      return (body as { parts: { name: string; ok: boolean }[] }).parts.some(
        ({ name, ok }) => name === 'engine' && !ok,
      );
    });
    await stack.engine.start();
    await until(
      'all programs answer',
      async () => {
        const states = await Promise.all(
          servers.map(async ({ id }) => ((await api.get(`/servers/${id}`)).body as Server).status),
        );
        return states.every((status) => status === 'RUNNING');
      },
      60_000,
    );
    await allRun();
    await deleteAll();
  });
});
