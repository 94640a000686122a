import type { Api } from '../support/api.js';
import { stack } from '../support/stack.js';
import { portProxies } from '../support/processes.js';
import { until } from '../support/until.js';
import { Hosting, onEngine, power, reach, type Server } from '../e2e/support/hosting.js';
import { ManyServices } from '../e2e/support/many-services.js';

jest.setTimeout(180_000);

/** How many services are under way at each fault. */
const MANY = 12;
const FEW = 6;

/** The daemons below the platform go away in the middle of work. Every operation ends all the same, once in effect. */
onEngine('a backing part that fails in the middle of work', () => {
  let hosting: Hosting;
  let api: Api;
  let services: ManyServices;

  beforeAll(async () => {
    hosting = await Hosting.start({ roles: ['api', 'node'] });
    await Promise.all([hosting.add(['worker']), hosting.add(['worker'])]);
    api = (await hosting.berth.makeAccount()).api;
    services = new ManyServices(hosting, api);
  });

  afterAll(async () => {
    await Promise.all([stack.redis.start(), stack.mariadb.start(), stack.engine.start()]);
    await hosting?.close();
  });

  async function deleteAll(): Promise<void> {
    await services.delete();
    await hosting.untilQuiet(60_000);
    await hosting.expectExactly([]);
    expect(await portProxies(`${hosting.berth.env.PUBLIC_ADDRESS}:`)).toEqual([]);
  }

  test(`Redis loses all it holds while ${MANY} services are made`, async () => {
    const made = await services.makeHalfway(MANY);
    await stack.redis.flush();
    await services.expectAllRun();
    const events = await hosting.rows<{ resource_id: string }>(
      "SELECT resource_id FROM activity_events WHERE event = 'server:install.complete'",
    );
    expect(events.map(({ resource_id }) => resource_id).sort()).toEqual(made.map(({ id }) => id).sort());
  });

  test('Redis is killed and comes back while they are deleted', async () => {
    const deleting = services.delete(FEW);
    await stack.redis.kill();
    await deleting;
    // Without Redis the API still accepts: the rows are what counts.
    await power(api, services.all[0]!.id, 'restart');
    expect((await hosting.berth.client('').get('/health/ready')).status).toBe(200);
    await stack.redis.start();
    await services.expectAllRun();
  });

  test('MariaDB is restarted in the middle', async () => {
    await services.makeHalfway(FEW);
    await stack.mariadb.restart();
    await until('the API is back', async () => (await api.get('/servers')).status === 200, 30_000);
    await services.expectAllRun();
    await deleteAll();
  });

  test('the engine is killed in the middle of creates, and while programs run', async () => {
    // Only when it is tried once more: what the first try broke is not to break this one.
    if (services.all.length > 0) await deleteAll();
    const [lasting] = await services.make(1);
    await reach(api, lasting!.id, 'RUNNING');
    await services.makeHalfway(FEW);
    await stack.engine.kill();
    const late = await services.make(1);
    await stack.engine.start();
    await reach(api, late[0]!.id, 'RUNNING', 60);
    await services.expectAllRun();
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
          services.all.map(async ({ id }) => ((await api.get(`/servers/${id}`)).body as Server).status),
        );
        return states.every((status) => status === 'RUNNING');
      },
      60_000,
    );
    await services.expectAllRun();
    await deleteAll();
  });
});
