import { newId } from '../../src/platform/ids/id.js';
import { engineName } from '../../src/modules/servers/server.operations.js';
import type { Api } from '../support/api.js';
import { EngineProxy } from '../support/engine-proxy.js';
import { stack } from '../support/stack.js';
import { until } from '../support/until.js';
import { createServer, ended, Hosting, onEngine, power, reach, runningServer, type Server } from './support/hosting.js';
import { Program } from './support/program.js';

interface HealthReport {
  ok: boolean;
  parts: { name: string; ok: boolean }[];
}

onEngine('the engine', () => {
  let hosting: Hosting;
  let proxy: EngineProxy;
  let api: Api;
  let server: Server;

  beforeAll(async () => {
    proxy = await EngineProxy.start(stack.env().ENGINE_URL!);
    hosting = await Hosting.start({ roles: ['api', 'worker', 'node'], env: { ENGINE_URL: proxy.url } });
    api = (await hosting.berth.makeAccount()).api;
    server = await runningServer(api);
  });

  afterAll(async () => {
    await hosting?.close();
    proxy?.close();
  });

  async function engineHealth(): Promise<boolean | undefined> {
    const { body } = await hosting.berth.client('').get('/health/ready');
    return (body as HealthReport).parts.find(({ name }) => name === 'engine')?.ok;
  }

  test('while it is away, reads that need it say so, and what is asked for is done when it is back', async () => {
    expect(await engineHealth()).toBe(true);
    proxy.away();
    await until('health names the engine', async () => (await engineHealth()) === false);
    const usage = (await api.get(`/servers/${server.id}/resources`)).expect(503);
    expect(usage.body).toMatchObject({ code: 'engine_unavailable', status: 503 });
    expect(Number(usage.header('retry-after'))).toBeGreaterThan(0);
    expect(usage.text).not.toMatch(/lxd|socket|unix/i);
    (await api.get(`/servers/${server.id}`)).expect(200);
    const made = await createServer(api);
    const restart = await power(api, server.id, 'restart');
    const resized = (await api.patch(`/servers/${made.id}/resources`, { ram: 256 })).expect(409);
    expect(resized.body).toMatchObject({ currentStatus: 'INSTALLING' });
    await until('tries that fail', async () => {
      const rows = await hosting.rows(
        "SELECT id FROM operations WHERE status IN ('QUEUED', 'RUNNING') AND attempts > 1",
      );
      return rows.length === 2;
    });
    await proxy.back();
    expect((await ended(api, restart)).body).toMatchObject({ status: 'DONE' });
    await reach(api, made.id, 'RUNNING');
    await until('health', engineHealth);
    await hosting.untilQuiet();
    await hosting.expectExactly([server.id, made.id]);
    expect(await new Program(made).text()).toContain('Hello');
    expect(await new Program(server).text()).toContain('Hello');
    const failures = await hosting.rows('SELECT id FROM operations WHERE failures > 0');
    expect(failures).toEqual([]);
    (await api.delete(`/servers/${made.id}`)).expect(204);
  });

  test('a delete that is asked for while it is away is carried out when it is back', async () => {
    const made = await runningServer(api);
    proxy.away();
    (await api.delete(`/servers/${made.id}`)).expect(204);
    (await api.get(`/servers/${made.id}`)).expect(404);
    await proxy.back();
    await hosting.untilQuiet();
    await hosting.expectExactly([server.id]);
  });

  test('a container that an engine left half made is made anew', async () => {
    const { engine, berth } = hosting;
    proxy.away();
    const made = await createServer(api);
    const name = engineName(made.id);
    await engine.createVolume({ name, sizeMb: 512, owner: made.id });
    const [row] = await hosting.rows<{ ip: string }>(
      'SELECT INET_NTOA(ip) AS ip FROM app_addresses WHERE server_id = ?',
      [made.id],
    );
    await engine.createInstance({
      name,
      owner: made.id,
      image: 'python',
      volume: name,
      limits: { memoryMb: 64, cpuPercent: 25, processes: 16 },
      rootDiskMb: 1024,
      network: { name: berth.env.APP_NETWORK!, address: row!.ip, gateway: hosting.gateway },
      environment: { STARTUP_FILE: 'none' },
      ports: [],
    });
    await proxy.back();
    await reach(api, made.id, 'RUNNING');
    expect(await new Program(made).text()).toContain('Hello');
    expect((await engine.getInstance(name)).limits.memoryMb).toBe(128);
    (await api.delete(`/servers/${made.id}`)).expect(204);
    await hosting.untilQuiet();
    await hosting.expectExactly([server.id]);
  });

  test('what no row owns is removed and reported; what has a foreign name, or an owner, is left alone', async () => {
    const { engine, berth } = hosting;
    const stray = { instance: engineName(newId('srv')), volume: engineName(newId('srv')) };
    const sizeMb = 512;
    await engine.createVolume({ name: stray.volume, sizeMb, owner: 'srv_none' });
    await engine.createVolume({ name: stray.instance, sizeMb, owner: 'srv_none' });
    await engine.createVolume({ name: 'kept-by-the-operator', sizeMb, owner: 'somebody' });
    await engine.createInstance({
      name: stray.instance,
      owner: 'srv_none',
      image: 'python',
      volume: stray.instance,
      limits: { memoryMb: 128, cpuPercent: 50, processes: 64 },
      rootDiskMb: 1024,
      network: {
        name: berth.env.APP_NETWORK!,
        address: hosting.gateway.replace(/\d+$/, '250'),
        gateway: hosting.gateway,
      },
      environment: {},
      ports: [],
    });
    // The first look is some seconds after a worker's start, the next ones are rarer.
    const worker = await hosting.add(['worker']);
    const made = await Promise.all(Array.from({ length: 3 }, () => createServer(api)));
    await until(
      'the strays are gone',
      async () => {
        const left = await hosting.inEngine();
        return !left.some((line) => line.includes(stray.instance) || line.includes(stray.volume));
      },
      60_000,
    );
    await Promise.all(made.map(({ id }) => reach(api, id, 'RUNNING')));
    expect(await hosting.inEngine()).toContain('volume kept-by-the-operator');
    const lines = () => [worker, berth.process('worker')].flatMap((one) => one.log().split('\n'));
    for (const name of [stray.instance, stray.volume]) {
      const told = (line: string) => line.includes(name) && line.includes('removed: nobody owns it');
      await until(`that ${name} is told of`, async () => lines().some(told));
    }
    await engine.deleteVolume('kept-by-the-operator');
    await hosting.untilQuiet();
    await hosting.expectExactly([server.id, ...made.map(({ id }) => id)]);
    await worker.stop();
  });
});
