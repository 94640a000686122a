import { engineName } from '../../src/modules/servers/server.operations.js';
import type { Api } from '../support/api.js';
import type { EngineProxy, FaultPoint } from '../support/engine-proxy.js';
import { until } from '../support/until.js';
import { createServer, Hosting, onEngine, power, setVariable, type Server } from './support/hosting.js';
import { KilledWorker, pointsUnderWay } from './support/killed-worker.js';
import { Program } from './support/program.js';

jest.setTimeout(600_000);

/** One kind of change to a service: how it is asked for, and what must hold of every service after it. */
interface Change {
  name: string;
  ask(api: Api, id: string): Promise<unknown>;
  status: string | null;
  /** Whether it may be asked for more than once. */
  again?: boolean;
}

const CHANGES: Change[] = [
  {
    name: 'restart with a changed variable',
    ask: async (api, id) => {
      await setVariable(api, id, 'INSTALL_COMMAND', 'echo changed');
      await power(api, id, 'restart');
    },
    status: 'RUNNING',
    again: true,
  },
  {
    name: 'resize',
    ask: async (api, id) => {
      // The answer waits for the new limits, and the worker is about to be killed.
      void api.patch(`/servers/${id}/resources`, { ram: 160, disk: 640, cpu: 150 }).catch(() => undefined);
      await until('resize accepted', async () => {
        const { lastOperation } = (await api.get(`/servers/${id}`)).body as Server;
        return lastOperation.type === 'server.resize';
      });
    },
    status: 'RUNNING',
  },
  {
    name: 'reinstall',
    ask: async (api, id) => (await api.post(`/servers/${id}/reinstall`)).expect(202),
    status: 'RUNNING',
    again: true,
  },
  { name: 'stop', ask: (api, id) => power(api, id, 'stop'), status: 'STOPPED' },
  { name: 'start', ask: (api, id) => power(api, id, 'start'), status: 'RUNNING' },
  { name: 'kill', ask: (api, id) => power(api, id, 'kill'), status: 'STOPPED' },
  { name: 'delete', ask: async (api, id) => (await api.delete(`/servers/${id}`)).expect(204), status: null },
];

/**
 * A worker is killed in every operation while the engine is busy with any of its requests. All points of one kind of
 * operation are tried at once, on several services: the answers are held, the worker is killed, and the next one has to bring
 * every service to the same end.
 */
onEngine('a worker that is killed while the engine is busy', () => {
  let hosting: Hosting;
  let proxy: EngineProxy;
  let worker: KilledWorker;
  let api: Api;
  /** What each kind of change asks of the engine, seen on a service that nothing happens to. */
  const points = new Map<string, FaultPoint[]>();
  let servers: Server[] = [];

  beforeAll(async () => {
    // Many programs stop at once, on a machine that is busy with others.
    hosting = await Hosting.start({ roles: ['api', 'node'], env: { STOP_TIMEOUT_SECONDS: '30' } });
    api = (await hosting.berth.makeAccount()).api;
    worker = await KilledWorker.start(hosting);
    proxy = worker.proxy;
    await learn();
  });

  afterAll(async () => {
    await worker?.close();
    await hosting?.close();
  });

  async function learn(): Promise<void> {
    const pilot = await createServer(api);
    const name = engineName(pilot.id);
    await hosting.untilQuiet();
    points.set('create', pointsUnderWay(proxy.requestsOf(name)));
    for (const change of CHANGES) {
      const before = proxy.seen.length;
      await change.ask(api, pilot.id);
      await hosting.untilQuiet();
      await expectNoFailure();
      points.set(change.name, pointsUnderWay(proxy.requestsOf(name, before)));
    }
  }

  /** Sets one service to each point of the change and asks for it, again where a point was passed by. */
  async function interruptAll(change: Change): Promise<void> {
    // What an earlier test failed over is not to be judged here.
    await expectAllThere();
    // Where there are more points than services, some of these are interrupted twice.
    for (const [index, fault] of points.get(change.name)!.entries())
      proxy.hold(engineName(servers[index % servers.length]!.id), fault);
    for (let round = 0; round < (change.again ? 3 : 1) && proxy.ahead.length > 0; round++) {
      await Promise.all(servers.map(({ id }) => change.ask(api, id)));
      await worker.interrupt();
    }
    expect(proxy.ahead).toEqual([]);
  }

  async function expectAllThere(): Promise<void> {
    expect(servers.length).toBeGreaterThan(0);
    expect(await worker.unfinished()).toEqual([]);
  }

  async function expectNoFailure(): Promise<void> {
    const columns = 'type, status, step, error_code, error_detail, attempts, failures';
    const failed = await hosting.rows(`SELECT ${columns} FROM operations WHERE status <> 'DONE'`);
    const logs = await hosting.rows(
      'SELECT exit_code, log FROM server_installations WHERE exit_code <> 0 OR exit_code IS NULL',
    );
    expect({ failed, logs }).toEqual({ failed: [], logs: [] });
  }

  /** Every service is there, once, in that status, and its program answers where it is to run. */
  async function expectAll(status: string): Promise<void> {
    const found = await hosting.rows<Server>('SELECT id, status FROM servers ORDER BY id');
    await expectNoFailure();
    expect(found).toEqual(servers.map(({ id }) => ({ id, status })).sort((a, b) => (a.id < b.id ? -1 : 1)));
    await hosting.expectExactly(servers.map(({ id }) => id));
    await Promise.all(
      servers.map(async (server) => {
        const { state } = await hosting.engine.getInstance(engineName(server.id));
        expect({ id: server.id, state }).toEqual({
          id: server.id,
          state: status === 'RUNNING' ? 'running' : 'stopped',
        });
        if (status === 'RUNNING') expect(await new Program(server).text()).toContain('Hello');
        else expect(await new Program(server).refuses()).toBe(true);
      }),
    );
  }

  test('while it creates: each service is there once, and runs', async () => {
    proxy.holdNewcomers(points.get('create')!);
    for (let round = 0; round < 3 && proxy.ahead.length > 0; round++) {
      const missing = proxy.ahead.length;
      if (round > 0) proxy.holdNewcomers(proxy.takeAhead());
      servers.push(...(await Promise.all(Array.from({ length: missing }, () => createServer(api)))));
      await worker.interrupt();
    }
    expect(proxy.ahead).toEqual([]);
    await expectAll('RUNNING');
  });

  test.each(CHANGES.filter(({ status }) => status !== null))(
    'at $name: each service ends as it should',
    async (change) => {
      await interruptAll(change);
      await expectAll(change.status!);
      if (change.name === 'resize') {
        const instances = await hosting.engine.listInstances();
        const volumes = await hosting.engine.listVolumes();
        expect(instances.every(({ limits }) => limits.memoryMb === 160 && limits.cpuPercent === 150)).toBe(true);
        expect(volumes.every(({ sizeMb }) => sizeMb === 640)).toBe(true);
      }
    },
  );

  test('while it deletes: nothing is left', async () => {
    await interruptAll(CHANGES.at(-1)!);
    servers = [];
    await hosting.expectExactly([]);
  });
});
