import { EngineError, type EngineErrorCode, type EngineEvent } from '../../../src/drivers/engine/engine.js';
import type { EngineTarget } from './engine-target.js';
import { exits, PROGRAMS } from './programs.js';
import { until } from '../../support/until.js';

/** Asserts that a call fails with this code of the port. */
export async function refuses(work: Promise<unknown>, code: EngineErrorCode): Promise<EngineError> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(EngineError);
  expect((error as EngineError).code).toBe(code);
  return error as EngineError;
}

/** What the port promises of instances, their volumes and settings, whatever stands behind it. */
export function engineContract(target: EngineTarget): void {
  const { engine } = target;

  beforeAll(() => target.open(), 600_000);
  afterEach(() => target.clean());
  afterAll(() => target.close());

  describe('set-up', () => {
    it('says what it is', async () => {
      const info = await engine.info();
      expect(info.kind).toMatch(/^(lxd|incus|simulator)$/);
      expect(info.version).not.toBe('');
      expect(info.member).not.toBe('');
    });

    it('can be repeated', async () => {
      await target.open();
      await target.open();
      const images = (await engine.listImages()).filter(({ alias }) => alias === 'nodejs');
      expect(images).toHaveLength(1);
    }, 120_000);

    it('fails as unavailable where nothing listens, and soon', async () => {
      const away = await target.unreachable();
      const before = Date.now();
      await refuses(away.info(), 'unavailable');
      await refuses(away.listInstances(), 'unavailable');
      await refuses(away.startInstance('any'), 'unavailable');
      await refuses(away.deleteInstance('any'), 'unavailable');
      await refuses(away.deleteVolume('any'), 'unavailable');
      expect(Date.now() - before).toBeLessThan(5000);
      await away.close();
    });
  });

  describe('volumes', () => {
    it('are made once, seen, resized and removed', async () => {
      const name = target.newName();
      await engine.createVolume({ name, sizeMb: 50, owner: 'srv_1' });
      await refuses(engine.createVolume({ name, sizeMb: 50, owner: 'srv_1' }), 'exists');
      await engine.resizeVolume(name, 80);
      expect(await engine.getVolume(name)).toMatchObject({ name, sizeMb: 80, owner: 'srv_1', usedBy: [] });
      expect((await engine.listVolumes()).map((volume) => volume.name)).toContain(name);
      expect(await engine.volumeUsage(name)).toBeLessThan(2 ** 20);
      await engine.deleteVolume(name);
      await engine.deleteVolume(name);
      await refuses(engine.getVolume(name), 'not_found');
      await refuses(engine.volumeUsage(name), 'not_found');
      await refuses(engine.resizeVolume(name, 90), 'not_found');
    });

    it('stay while an instance uses them', async () => {
      const { name } = await target.make(PROGRAMS.serves);
      expect((await engine.getVolume(name)).usedBy).toEqual([name]);
      await refuses(engine.deleteVolume(name), 'conflict');
      await engine.deleteInstance(name);
      expect((await engine.getVolume(name)).usedBy).toEqual([]);
    });
  });

  describe('instances', () => {
    it('are what their specification says, and made once', async () => {
      const ports = [
        { name: 'web', protocol: 'tcp' as const, listenAddress: '127.0.0.1', listenPort: 28431, targetPort: 3000 },
        { name: 'game', protocol: 'udp' as const, listenAddress: '127.0.0.1', listenPort: 28431, targetPort: 3001 },
      ];
      const spec = await target.make(PROGRAMS.serves, { ports });
      const instance = await engine.getInstance(spec.name);
      expect(instance).toMatchObject({
        name: spec.name,
        owner: spec.owner,
        state: 'stopped',
        address: spec.network.address,
        image: 'nodejs',
        startedAt: null,
        limits: spec.limits,
      });
      expect(instance.environment).toEqual(spec.environment);
      expect(instance.ports).toEqual(expect.arrayContaining(ports));
      expect(instance.ports).toHaveLength(2);
      expect(Math.abs(instance.createdAt.getTime() - Date.now())).toBeLessThan(60_000);
      await refuses(engine.createInstance(spec), 'exists');
      const listed = (await engine.listInstances()).find(({ name }) => name === spec.name);
      expect(listed).toEqual(await engine.getInstance(spec.name));
    });

    it.each([
      ['getInstance', () => engine.getInstance('t-none')],
      ['startInstance', () => engine.startInstance('t-none')],
      ['stopInstance', () => engine.stopInstance('t-none', 1000)],
      ['killInstance', () => engine.killInstance('t-none')],
      ['setLimits', () => engine.setLimits('t-none', { memoryMb: 64, cpuPercent: 50, processes: 50 })],
      ['setEnvironment', () => engine.setEnvironment('t-none', {})],
      ['setPorts', () => engine.setPorts('t-none', [])],
      ['instanceUsage', () => engine.instanceUsage('t-none')],
      ['lastExit', () => engine.lastExit('t-none')],
      ['installExit', () => engine.installExit('t-none')],
      ['consoleLog', () => engine.consoleLog('t-none')],
    ])('%s of a missing one is not found', async (_, call) => {
      await refuses(call(), 'not_found');
    });

    it('can be made and started several at once', async () => {
      const specs = await Promise.all([1, 2, 3, 4].map(() => target.make(PROGRAMS.serves)));
      await Promise.all(specs.map(({ name }) => engine.startInstance(name)));
      await Promise.all(specs.map(({ name }) => target.untilPrinted(name, 'ready')));
    });

    it('need an image, a volume and a proper name', async () => {
      const name = target.newName();
      await refuses(engine.createInstance(target.spec(name, PROGRAMS.serves)), 'not_found');
      const spec = await target.make(PROGRAMS.serves);
      const other = { ...spec, name: target.newName() };
      await refuses(engine.createInstance({ ...other, image: 'no-such-image' }), 'not_found');
      for (const odd of ['a;reboot', '$(id)', '../x', 'a/b', '', 'a\nb', 'srv_1', '--x']) {
        await refuses(engine.createInstance({ ...other, name: odd }), 'invalid');
      }
    });

    it('leave nothing when they are deleted, also while they run, and also twice', async () => {
      const { name } = await target.started(PROGRAMS.ignoresStop);
      await engine.deleteInstance(name);
      await engine.deleteInstance(name);
      await refuses(engine.getInstance(name), 'not_found');
      expect((await engine.listInstances()).map((instance) => instance.name)).not.toContain(name);
      await engine.deleteVolume(name);
      expect((await engine.listVolumes()).map((volume) => volume.name)).not.toContain(name);
    });
  });

  describe('settings', () => {
    it('replaces limits, environment and ports, running or not', async () => {
      const spec = await target.make(PROGRAMS.serves);
      const { name } = spec;
      const limits = { memoryMb: 320, cpuPercent: 150, processes: 60 };
      const port = {
        name: 'b',
        protocol: 'tcp' as const,
        listenAddress: '127.0.0.1',
        listenPort: 28433,
        targetPort: 80,
      };
      const environment = { BERTH_PHASE: 'install', ONLY: 'this', EMPTY: '' };
      const change = async () => {
        await engine.setLimits(name, limits);
        await engine.setEnvironment(name, environment);
        await engine.setPorts(name, [port]);
        expect(await engine.getInstance(name)).toMatchObject({ limits, ports: [port] });
        expect((await engine.getInstance(name)).environment).toEqual(environment);
      };
      await change();
      await engine.setEnvironment(name, spec.environment);
      await engine.setLimits(name, spec.limits);
      await engine.setPorts(name, []);
      await engine.startInstance(name);
      await target.untilPrinted(name, 'ready');
      await change();
    });

    it('takes changes of different kinds at once', async () => {
      const { name } = await target.make(PROGRAMS.serves);
      const port = {
        name: 'c',
        protocol: 'tcp' as const,
        listenAddress: '127.0.0.1',
        listenPort: 28434,
        targetPort: 80,
      };
      await Promise.all([
        engine.setEnvironment(name, { A: '1' }),
        engine.setPorts(name, [port]),
        engine.setLimits(name, { memoryMb: 100, cpuPercent: 20, processes: 40 }),
      ]);
      expect(await engine.getInstance(name)).toMatchObject({
        environment: { A: '1' },
        ports: [port],
        limits: { memoryMb: 100, cpuPercent: 20, processes: 40 },
      });
    });

    it.each([
      ['a line break', { A: 'secret-one\nlxc.init.cmd = /bin/sh' }],
      ['a zero byte', { A: 'secret-one\0' }],
      ['a name with a line break', { 'A\nB': 'secret-one' }],
      ['a name with an equals sign', { 'A=B': 'secret-one' }],
      ['a name of the platform', { BERTH_HEX_A: 'secret-one' }],
    ])('refuses an environment with %s, and does not repeat the value', async (_, environment) => {
      const spec = await target.make(PROGRAMS.serves);
      const error = await refuses(engine.setEnvironment(spec.name, environment), 'invalid');
      expect(error.message).not.toContain('secret-one');
      await refuses(engine.createInstance({ ...spec, name: target.newName(), environment }), 'invalid');
      expect((await engine.getInstance(spec.name)).environment).toEqual(spec.environment);
    });

    it('refuses to start what wants a published port that is taken', async () => {
      const ports = [
        { name: 'd', protocol: 'tcp' as const, listenAddress: '127.0.0.1', listenPort: 28435, targetPort: 80 },
      ];
      const first = await target.make(PROGRAMS.serves, { ports });
      const second = await target.make(PROGRAMS.serves, { ports });
      await engine.startInstance(first.name);
      await refuses(engine.startInstance(second.name), 'conflict');
      await engine.setPorts(first.name, []);
      await engine.startInstance(second.name);
    });
  });

  describe('events', () => {
    it('tells each start and stop, also those nobody asked for', async () => {
      const events: EngineEvent[] = [];
      const abort = new AbortController();
      let connections = 0;
      engine.watch(
        (event) => events.push(event),
        () => connections++,
        abort.signal,
      );
      await until('the watch stands', () => connections > 0);
      const { name } = await target.started(exits(3));
      const kinds = () => events.filter(({ instance }) => instance === name).map(({ kind }) => kind);
      await until('the end is told', () => kinds().includes('stopped'));
      expect(kinds()).toEqual(['started', 'stopped']);
      expect(await engine.lastExit(name)).toMatchObject({ code: 3 });
      abort.abort();
      await engine.startInstance(name);
      await target.untilStopped(name);
      expect(kinds()).toHaveLength(2);
    });
  });
}
