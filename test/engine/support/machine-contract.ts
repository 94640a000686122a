import type { EngineError, MachineSpec, PublishedPort } from '../../../src/drivers/engine/engine.js';
import type { EngineTarget } from './engine-target.js';
import { until } from '../../support/until.js';
import { refuses } from './engine-contract.js';

/** What the port promises about machines and their snapshots. */
export function machineContract(target: EngineTarget): void {
  const { engine } = target;
  let spec: MachineSpec;

  beforeAll(async () => {
    await target.open();
    await target.openMachines();
    spec = await target.makeMachine();
  }, 600_000);
  afterAll(() => target.close());

  const port = (name: string, listenPort: number): PublishedPort => ({
    name,
    protocol: 'tcp',
    listenAddress: '127.0.0.1',
    listenPort,
    targetPort: 22,
  });

  it('is made as it was asked for, and does not run yet', async () => {
    expect(await engine.getInstance(spec.name)).toMatchObject({
      name: spec.name,
      owner: spec.owner,
      image: 'debian/12',
      state: 'stopped',
      startedAt: null,
      address: spec.network.address,
      limits: { memoryMb: 256, cpuPercent: 100, processes: 500 },
      ports: [],
    });
    await refuses(engine.createMachine(spec), 'exists');
  });

  it('takes a key of one line only, and an image and a network that are there', async () => {
    const made = (change: Partial<MachineSpec>) => engine.createMachine({ ...spec, name: target.newName(), ...change });
    await refuses(made({ authorizedKey: `${spec.authorizedKey}\ncommand="x" ${spec.authorizedKey}` }), 'invalid');
    await refuses(made({ image: 'no-such-image' }), 'not_found');
    await refuses(made({ name: 'a_b' }), 'invalid');
  });

  it('starts, stops cleanly and starts again, and starting what runs is no error', async () => {
    await engine.startInstance(spec.name);
    await engine.startInstance(spec.name);
    expect((await engine.getInstance(spec.name)).state).toBe('running');
    // An init that has just begun does not hear that it is to stop.
    await until('a clean stop', () =>
      engine.stopInstance(spec.name, 5000).then(
        () => true,
        (error: EngineError) => {
          if (error.code !== 'timeout') throw error;
          return false;
        },
      ),
    );
    expect((await engine.getInstance(spec.name)).state).toBe('stopped');
  });

  it('takes other limits and ports, while it runs and while it does not', async () => {
    const { name } = spec;
    for (const running of [false, true]) {
      if (running) await engine.startInstance(name);
      const cpus = running ? 1 : 2;
      await engine.setMachineLimits(name, { cpus, memoryMb: 300 + cpus, diskMb: 2048 + cpus, processes: 600 });
      await engine.setPorts(name, [port(`p${cpus}`, 31_900 + cpus)]);
      expect(await engine.getInstance(name)).toMatchObject({
        limits: { memoryMb: 300 + cpus, cpuPercent: cpus * 100, processes: 600 },
        ports: [port(`p${cpus}`, 31_900 + cpus)],
      });
    }
    await refuses(engine.setMachineLimits('t-missing', spec.limits), 'not_found');
  });

  it('tells what it uses, its disk also while it stands still', async () => {
    const running = await engine.instanceUsage(spec.name);
    expect(running).toMatchObject({ state: 'running' });
    expect(running.memoryBytes).toBeGreaterThan(2 ** 20);
    await engine.killInstance(spec.name);
    const { state, rootBytes } = await engine.instanceUsage(spec.name);
    expect(state).toBe('stopped');
    expect(rootBytes).toBeGreaterThan(0);
  });

  it('keeps, lists, restores and removes snapshots', async () => {
    const { name } = spec;
    await engine.createSnapshot(name, 'first');
    await engine.createSnapshot(name, 'second');
    await refuses(engine.createSnapshot(name, 'first'), 'exists');
    expect((await engine.listSnapshots(name)).sort()).toEqual(['first', 'second']);
    await engine.startInstance(name);
    await refuses(engine.restoreSnapshot(name, 'first'), 'conflict');
    await engine.killInstance(name);
    await engine.restoreSnapshot(name, 'first');
    await refuses(engine.restoreSnapshot(name, 'third'), 'not_found');
    await engine.deleteSnapshot(name, 'first');
    await engine.deleteSnapshot(name, 'first');
    expect(await engine.listSnapshots(name)).toEqual(['second']);
    await refuses(engine.createSnapshot('t-missing', 'first'), 'not_found');
  });

  it('goes with its snapshots', async () => {
    await engine.deleteInstance(spec.name);
    await engine.deleteInstance(spec.name);
    await refuses(engine.getInstance(spec.name), 'not_found');
    await engine.deleteSnapshot(spec.name, 'second');
  });
}
