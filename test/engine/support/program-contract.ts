import { refuses } from './engine-contract.js';
import type { EngineTarget } from './engine-target.js';
import { diesOf, exits, PROGRAMS } from './programs.js';
import { until } from '../../support/until.js';

/** What the port promises of a service's program: how it begins and ends, what is known of it then, and what it uses. */
export function programContract(target: EngineTarget): void {
  const { engine } = target;

  beforeAll(() => target.open(), 600_000);
  afterEach(() => target.clean());
  afterAll(() => target.close());

  describe('life of a program', () => {
    it('installs, runs, and ends cleanly when asked', async () => {
      const { name } = await target.started(PROGRAMS.serves);
      expect((await engine.getInstance(name)).state).toBe('running');
      const install = await until('the installation ends', () => engine.installExit(name));
      expect(install).toMatchObject({ phase: 'install', code: 0, signal: null });
      await target.untilPrinted(name, 'ready');
      expect(await engine.lastExit(name)).toBeNull();
      await engine.stopInstance(name, 10_000);
      expect((await engine.getInstance(name)).state).toBe('stopped');
      const exit = await engine.lastExit(name);
      expect(exit).toMatchObject({ phase: 'run', code: 0, signal: null, outOfMemory: false });
      expect(Math.abs((exit?.at.getTime() ?? 0) - Date.now())).toBeLessThan(10_000);
    });

    it('starts and stops are idempotent', async () => {
      const { name } = await target.started(PROGRAMS.serves);
      await engine.startInstance(name);
      await target.untilPrinted(name, 'ready');
      await engine.stopInstance(name, 10_000);
      await engine.stopInstance(name, 10_000);
      await engine.killInstance(name);
      expect((await engine.getInstance(name)).startedAt).not.toBeNull();
    });

    it('does not install again once that succeeded', async () => {
      const { name } = await target.started(PROGRAMS.serves);
      await target.untilPrinted(name, 'ready');
      const first = await engine.installExit(name);
      await engine.stopInstance(name, 10_000);
      await engine.startInstance(name);
      await target.untilPrinted(name, 'ready');
      expect(await engine.installExit(name)).toEqual(first);
      expect(await engine.lastExit(name)).toBeNull();
    });

    it('tells a failed installation by its exit code, and does not run the program', async () => {
      const { name } = await target.started(PROGRAMS.failsToInstall);
      await target.untilStopped(name);
      expect(await engine.installExit(name)).toMatchObject({ phase: 'install', code: 42, signal: null });
      expect(await engine.lastExit(name)).toMatchObject({ phase: 'install', code: 42 });
      expect(await engine.consoleLog(name)).toContain('[install]');
    });

    it('leaves no install record of an installation that was killed', async () => {
      const { name } = await target.started(PROGRAMS.installsForever);
      await target.untilPrinted(name, 'install command');
      expect(await engine.installExit(name)).toBeNull();
      await engine.killInstance(name);
      expect(await engine.installExit(name)).toBeNull();
      expect(await engine.lastExit(name)).toBeNull();
    });

    it.each([0, 1, 3, 137, 255])('records exit code %i as such', async (code) => {
      const { name } = await target.started(exits(code));
      await target.untilStopped(name);
      expect(await engine.lastExit(name)).toMatchObject({ phase: 'run', code, signal: null, outOfMemory: false });
    });

    it.each([
      ['SIGSEGV', 11],
      ['SIGKILL', 9],
    ] as const)('records an end by %s', async (signal, number) => {
      const { name } = await target.started(diesOf(signal, number));
      await target.untilStopped(name);
      expect(await engine.lastExit(name)).toMatchObject({ code: 128 + number, signal, outOfMemory: false });
    });

    it('records an end by lack of memory', async () => {
      const { name } = await target.started(PROGRAMS.outOfMemory);
      await target.untilStopped(name);
      expect(await engine.lastExit(name)).toMatchObject({ code: 137, signal: 'SIGKILL', outOfMemory: true });
    });

    it('gives up on a program that ignores the stop, which a kill then ends', async () => {
      const { name } = await target.started(PROGRAMS.ignoresStop);
      await target.untilPrinted(name, 'ready');
      await refuses(engine.stopInstance(name, 1000), 'timeout');
      expect((await engine.getInstance(name)).state).toBe('running');
      await engine.killInstance(name);
      expect((await engine.getInstance(name)).state).toBe('stopped');
      expect(await engine.lastExit(name)).toBeNull();
    });

    it('kills also while a stop is pending', async () => {
      const { name } = await target.started(PROGRAMS.ignoresStop);
      await target.untilPrinted(name, 'ready');
      const pending = engine.stopInstance(name, 25_000).then(
        () => 'stopped',
        () => 'failed',
      );
      const before = Date.now();
      await engine.killInstance(name);
      expect((await engine.getInstance(name)).state).toBe('stopped');
      expect(await pending).toBe('stopped');
      expect(Date.now() - before).toBeLessThan(15_000);
    });

    it('keeps what was printed, however often it is read, and begins anew at each start', async () => {
      const { name } = await target.started(PROGRAMS.serves);
      await target.untilPrinted(name, 'ready');
      const first = await engine.consoleLog(name);
      expect(await engine.consoleLog(name)).toBe(first);
      expect(first).toContain('[install]');
      await engine.stopInstance(name, 10_000);
      const whole = await engine.consoleLog(name);
      expect(whole.startsWith(first)).toBe(true);
      expect(whole).toContain('Stopping');
      await engine.startInstance(name);
      await target.untilPrinted(name, 'ready');
      expect(await engine.consoleLog(name)).not.toContain('Stopping');
    });

    it('has an empty console before its first start', async () => {
      const { name } = await target.make(PROGRAMS.serves);
      expect(await engine.consoleLog(name)).toBe('');
      expect(await engine.lastExit(name)).toBeNull();
      expect(await engine.installExit(name)).toBeNull();
    });
  });

  describe('usage', () => {
    it('counts while it runs, and is nothing when it does not', async () => {
      const { name } = await target.started(PROGRAMS.serves);
      await target.untilPrinted(name, 'ready');
      const usage = await engine.instanceUsage(name);
      expect(usage.state).toBe('running');
      expect(usage.memoryBytes).toBeGreaterThan(2 ** 20);
      expect(usage.memoryBytes).toBeLessThan(2 ** 28);
      expect(usage.cpuNanoseconds).toBeGreaterThan(1e6);
      expect(usage.startedAt).not.toBeNull();
      await engine.killInstance(name);
      expect(await engine.instanceUsage(name)).toEqual({
        state: 'stopped',
        memoryBytes: 0,
        cpuNanoseconds: 0,
        rxBytes: 0,
        txBytes: 0,
        startedAt: null,
        rootBytes: expect.any(Number) as number,
      });
    });
  });
}
