import { EngineError } from '../../../src/drivers/engine/engine.js';
import type { EngineMethod } from '../../../src/drivers/engine/simulator/simulator-faults.js';
import { LxcModule, LxcWorkerModule } from '../../../src/modules/lxc/lxc.module.js';
import { MachineAddress } from '../../../src/modules/lxc/machine-address.entity.js';
import { MachinePowerService } from '../../../src/modules/lxc/machine-power.service.js';
import { ALLOWED_ACTIONS, MACHINE_STATUSES } from '../../../src/modules/lxc/machine-status.js';
import { Machine } from '../../../src/modules/lxc/machine.entity.js';
import { engineName } from '../../../src/modules/lxc/machine.operations.js';
import { MachinesService } from '../../../src/modules/lxc/machines.service.js';
import { MachinePort } from '../../../src/modules/lxc/ports/machine-port.entity.js';
import { MachinePortsService } from '../../../src/modules/lxc/ports/machine-ports.service.js';
import { MachineResizeService } from '../../../src/modules/lxc/resize.service.js';
import { MachineSnapshot } from '../../../src/modules/lxc/snapshots/machine-snapshot.entity.js';
import { SnapshotsService } from '../../../src/modules/lxc/snapshots/snapshots.service.js';
import { LeftoversWorker } from '../../../src/modules/instances/leftovers.worker.js';
import { InstanceWatchers } from '../../../src/modules/instances/instance-watchers.service.js';
import { PortClaim } from '../../../src/modules/ports/port-claim.entity.js';
import { ServerObserver } from '../../../src/modules/servers/observer/server-observer.service.js';
import { AllocationsService } from '../../../src/modules/servers/allocations/allocations.service.js';
import type { Principal } from '../../../src/platform/auth/principal.js';
import { newId } from '../../../src/platform/ids/id.js';
import { Operation } from '../../../src/platform/operations/operation.entity.js';
import { until } from '../../support/until.js';
import { ServersApp } from '../servers/servers-app.js';

const WANTED = {
  name: 'tested',
  image: 'debian/12',
  cpu: 2,
  ramMb: 512,
  diskGb: 4,
  sshKey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f nobody',
};
const NO_OPERATION = new EngineError('failed', 'planned failure');

let app: ServersApp;
let caller: Principal;
let machines: MachinesService;
let leftovers: LeftoversWorker;

beforeAll(async () => {
  app = await ServersApp.start({ PORT_RANGE: '28000-28020', STOP_TIMEOUT_SECONDS: '2' }, [LxcModule]);
  const worker = await app.startWorker([LxcWorkerModule]);
  leftovers = worker.get(LeftoversWorker);
  machines = app.api.get(MachinesService);
  caller = await app.makeCaller('ada');
  await app.database.source.query("UPDATE plans SET machines = 100, servers = 100 WHERE id = 'pro'");
}, 120_000);
afterEach(() => app.engine.faults.forgetPlan());
afterAll(() => app?.close());

const rows = () => app.database.source.manager;
const status = async (id: string): Promise<string> => (await rows().findOneByOrFail(Machine, { id })).status;
const reaches = (id: string, wanted: string): Promise<unknown> =>
  until(`${wanted}`, async () => (await status(id)) === wanted);
const quiet = (id: string): Promise<unknown> =>
  until('the end of its operations', async () => {
    const ends = await rows().findBy(Operation, { resourceId: id });
    return ends.every((operation) => operation.activeKey === null);
  });
const lastOf = async (id: string): Promise<Operation> =>
  (await rows().findOne(Operation, { where: { resourceId: id }, order: { id: 'DESC' } }))!;

async function running(wanted: Partial<typeof WANTED> = {}): Promise<string> {
  const { id } = await machines.create(caller, { ...WANTED, ...wanted });
  await reaches(id, 'RUNNING');
  return id;
}

/** Fails every try that an operation makes at a step. */
function failAll(method: EngineMethod): void {
  for (let nth = 1; nth <= 3; nth++) app.engine.faults.failCall(method, nth, NO_OPERATION);
}

describe('a creation that fails', () => {
  test.each<EngineMethod>(['createMachine', 'startInstance'])(
    'at %s leaves nothing behind, and a retry makes it with the same parameters',
    async (method) => {
      // A start is tried several times within the step.
      for (let nth = 1; nth <= 9; nth++) app.engine.faults.failCall(method, nth, NO_OPERATION);
      const { id } = await machines.create(caller, WANTED);
      await reaches(id, 'INSTALL_FAILED');
      await expect(app.engine.getInstance(engineName(id))).rejects.toMatchObject({ code: 'not_found' });
      expect((await machines.get(caller, id)).lastOperation).toMatchObject({ type: 'lxc.create', status: 'FAILED' });
      app.engine.faults.forgetPlan();
      await machines.retry(caller, id);
      await reaches(id, 'RUNNING');
      const { limits, address } = await app.engine.getInstance(engineName(id));
      expect(limits).toEqual({ memoryMb: 512, cpuPercent: 200, processes: 4096 });
      expect(address).toBe((await machines.get(caller, id)).ipv4);
    },
    60_000,
  );

  test('is made good where the engine was only away', async () => {
    app.engine.faults.goAway();
    const { id } = await machines.create(caller, WANTED).catch(() => ({ id: null }));
    // Which images there are cannot be told meanwhile.
    expect(id).toBeNull();
    app.engine.faults.comeBack();
    const made = await machines.create(caller, WANTED);
    app.engine.faults.goAway();
    await new Promise((resolve) => setTimeout(resolve, 300));
    app.engine.faults.comeBack();
    await reaches(made.id, 'RUNNING');
  }, 60_000);

  test('a first failure of a call is tried again', async () => {
    app.engine.faults.failCall('createMachine', 1, NO_OPERATION);
    const id = await running();
    expect((await lastOf(id)).failures).toBe(1);
  }, 30_000);
});

describe('what fails later', () => {
  let id: string;
  beforeAll(async () => (id = await running()), 30_000);

  test('a port that the engine does not open is given back', async () => {
    failAll('setPorts');
    const ports = app.api.get(MachinePortsService);
    await expect(ports.add(caller, id, { targetPort: 22, protocol: 'tcp', publicPort: 28_001 })).rejects.toMatchObject({
      code: 'port_taken',
    });
    await quiet(id);
    expect(await rows().countBy(MachinePort, { machineId: id })).toBe(0);
    expect(await rows().countBy(PortClaim, { port: 28_001 })).toBe(0);
  }, 30_000);

  test('a snapshot that is not made is none', async () => {
    failAll('createSnapshot');
    const snapshots = app.api.get(SnapshotsService);
    const { operationId } = await snapshots.create(caller, id, {});
    await quiet(id);
    expect((await rows().findOneByOrFail(Operation, { id: operationId })).status).toBe('FAILED');
    expect(await snapshots.list(caller, id)).toEqual([]);
  }, 30_000);

  test('a restore that fails leaves a stopped machine and a snapshot to try again', async () => {
    const snapshots = app.api.get(SnapshotsService);
    const { id: snapshotId } = await snapshots.create(caller, id, { name: 'kept' });
    await quiet(id);
    failAll('restoreSnapshot');
    await snapshots.restore(caller, id, snapshotId);
    await quiet(id);
    app.engine.faults.forgetPlan();
    expect(await status(id)).toBe('STOPPED');
    expect((await rows().findOneByOrFail(MachineSnapshot, { id: snapshotId })).status).toBe('READY');
    await snapshots.restore(caller, id, snapshotId);
    await quiet(id);
    expect((await lastOf(id)).status).toBe('DONE');
    await app.api.get(MachinePowerService).send(caller, id, 'start');
    await reaches(id, 'RUNNING');
  }, 60_000);

  test('a snapshot of more than fits today is restored, and waits stopped for a disk that holds it', async () => {
    const small = await running({ diskGb: 4 });
    const resize = app.api.get(MachineResizeService);
    const snapshots = app.api.get(SnapshotsService);
    app.engine.fill(engineName(small), 3 * 2 ** 30);
    const { id: snapshotId } = await snapshots.create(caller, small, {});
    await quiet(small);
    app.engine.fill(engineName(small), 2 ** 30);
    await resize.resize(caller, small, { diskGb: 2 });
    await snapshots.restore(caller, small, snapshotId);
    await quiet(small);
    expect(await lastOf(small)).toMatchObject({ status: 'FAILED', errorCode: 'disk_in_use' });
    expect(await status(small)).toBe('STOPPED');
    await expect(resize.resize(caller, small, { diskGb: 4 })).resolves.toMatchObject({ diskGb: 4, appliedLive: true });
    await app.api.get(MachinePowerService).send(caller, small, 'start');
    await reaches(small, 'RUNNING');
  }, 60_000);

  test('limits that the engine refuses are taken back', async () => {
    failAll('setMachineLimits');
    const resize = app.api.get(MachineResizeService);
    await expect(resize.resize(caller, id, { cpu: 4 })).rejects.toMatchObject({ kind: 'conflict' });
    expect((await machines.get(caller, id)).cpu).toBe(2);
    app.engine.faults.forgetPlan();
    app.engine.fill(engineName(id), 3 * 2 ** 30);
    await expect(resize.resize(caller, id, { diskGb: 2 })).rejects.toMatchObject({ code: 'disk_in_use' });
  }, 30_000);
});

describe('many at once', () => {
  test('the plan lets as many through as it says', async () => {
    const other = await app.makeCaller('grace');
    await app.database.source.query("UPDATE plans SET machines = 3 WHERE id = 'pro'");
    const tries = await Promise.allSettled(Array.from({ length: 12 }, () => machines.create(other, WANTED)));
    await app.database.source.query("UPDATE plans SET machines = 100 WHERE id = 'pro'");
    expect(tries.filter(({ status: how }) => how === 'fulfilled')).toHaveLength(3);
    for (const one of tries) {
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ kind: 'forbidden', code: 'quota_exceeded' });
    }
    expect(await rows().countBy(Machine, { accountId: other.accountId })).toBe(3);
    const addresses = await rows().find(MachineAddress);
    expect(new Set(addresses.map(({ ip }) => ip)).size).toBe(addresses.length);
    for (const { id } of (await machines.list(other)).containers) await reaches(id, 'RUNNING');
  }, 60_000);

  test('of snapshots a machine has as many as the plan says', async () => {
    const [first, second] = await Promise.all([running(), running()]);
    await app.database.source.query("UPDATE plans SET machine_snapshots = 2 WHERE id = 'pro'");
    const snapshots = app.api.get(SnapshotsService);
    const one = await snapshots.create(caller, first, {});
    await quiet(first);
    const tries = await Promise.allSettled(Array.from({ length: 10 }, () => snapshots.create(caller, first, {})));
    expect(tries.filter(({ status: how }) => how === 'fulfilled')).toHaveLength(1);
    await quiet(first);
    const limit = { name: 'machineSnapshots', allowed: 2, used: 2, requested: 1 };
    const full = { kind: 'forbidden', code: 'quota_exceeded', extra: { members: { limit } } };
    await expect(snapshots.create(caller, first, {})).rejects.toMatchObject(full);
    expect(await rows().countBy(MachineSnapshot, { machineId: first })).toBe(2);
    await expect(snapshots.create(caller, second, {})).resolves.toMatchObject({ status: 'CREATING' });
    await snapshots.delete(caller, first, one.id);
    await quiet(first);
    await expect(snapshots.create(caller, first, {})).resolves.toMatchObject({ status: 'CREATING' });
    await quiet(first);
    await app.database.source.query("UPDATE plans SET machine_snapshots = 5 WHERE id = 'pro'");
  }, 30_000);

  test('one public port goes to one of them, be they machines or services', async () => {
    const ids = await Promise.all(Array.from({ length: 4 }, () => running()));
    const serverId = await app.makeServer(caller);
    const ports = app.api.get(MachinePortsService);
    const wanted = { protocol: 'tcp' as const };
    // A service has one from its beginning, whichever it was given.
    const claimed = (await rows().find(PortClaim)).map(({ port }) => port);
    const port = [28_010, 28_011, 28_012].find((one) => !claimed.includes(one))!;
    const tries = await Promise.allSettled<unknown>([
      ...ids.map((id) => ports.add(caller, id, { ...wanted, targetPort: 22, publicPort: port })),
      app.api.get(AllocationsService).add(caller, serverId, { ...wanted, port }),
    ]);
    expect(tries.filter(({ status: how }) => how === 'fulfilled')).toHaveLength(1);
    for (const one of tries) {
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'port_taken' });
    }
    expect(await rows().countBy(PortClaim, { port, protocol: 'tcp' })).toBe(1);
    await ports.add(caller, ids[0]!, { protocol: 'udp', targetPort: 53, publicPort: port });
    for (const publicPort of [80, 27_999, 28_021]) {
      await expect(ports.add(caller, ids[0]!, { ...wanted, targetPort: 22, publicPort })).rejects.toMatchObject({
        kind: 'bad_request',
      });
    }
  }, 60_000);
});

test('what no row owns is removed from the engine, and a deletion that gave up goes on', async () => {
  const id = await running();
  const stray = engineName(newId('lxc'));
  await app.engine.createMachine({
    name: stray,
    owner: 'nobody',
    image: 'debian/12',
    limits: { cpus: 1, memoryMb: 256, diskMb: 2048, processes: 10 },
    network: { name: 'berth0m', address: '10.58.200.1' },
    authorizedKey: WANTED.sshKey,
    ports: [],
  });
  await rows().update(Machine, { id }, { status: 'DELETING' });
  await leftovers.reconcile();
  await expect(app.engine.getInstance(stray)).rejects.toMatchObject({ code: 'not_found' });
  await until('its row is gone', async () => (await rows().countBy(Machine, { id })) === 0);
  await expect(app.engine.getInstance(engineName(id))).rejects.toMatchObject({ code: 'not_found' });
}, 30_000);

test('the rows follow what a node sees', async () => {
  const id = await running();
  const { nodeId } = await rows().findOneByOrFail(Machine, { id });
  const watchers = app.api.get(InstanceWatchers);
  await quiet(id);
  app.engine.crash(engineName(id));
  await watchers.stopped(nodeId, engineName(id));
  expect(await status(id)).toBe('STOPPED');
  await app.engine.startInstance(engineName(id));
  await watchers.seen(nodeId, [{ name: engineName(id), running: true }]);
  expect(await status(id)).toBe('RUNNING');
  // A node tells of its own machines only.
  app.engine.crash(engineName(id));
  await watchers.stopped(newId('nod'), engineName(id));
  expect(await status(id)).toBe('RUNNING');
}, 30_000);

test('what the engine went down with is started again as soon as the node says that it may be, and nothing else', async () => {
  const [on, off] = await Promise.all([running(), running()]);
  const serverId = await app.makeServer(caller);
  await app.api.get(MachinePowerService).send(caller, off, 'stop');
  await Promise.all([on, off, serverId].map(quiet));
  const { nodeId } = await rows().findOneByOrFail(Machine, { id: on });
  const report = async (mayResume: boolean): Promise<string[]> => {
    const instances = (await app.engine.listInstances()).map(({ name, state, interrupted }) => ({
      name,
      running: state === 'running',
      ...(interrupted && { interrupted, mayResume }),
    }));
    await app.api.get(InstanceWatchers).seen(nodeId, instances);
    return app.api.get(ServerObserver).compare(nodeId, instances);
  };
  const runs = async (id: string): Promise<boolean> =>
    (await app.engine.getInstance(engineName(id))).state === 'running';
  app.engine.powerCut();
  expect(await report(false)).toEqual([]);
  expect([await status(on), await status(off)]).toEqual(['RUNNING', 'STOPPED']);
  expect([await runs(on), await runs(off), await runs(serverId)]).toEqual([false, false, false]);
  expect(await report(true)).toEqual([]);
  await Promise.all([on, off, serverId].map(quiet));
  await app.status(serverId, 'RUNNING');
  expect([await status(on), await status(off)]).toEqual(['RUNNING', 'STOPPED']);
  expect([await runs(on), await runs(off), await runs(serverId)]).toEqual([true, false, true]);
  expect(await app.database.query('SELECT id FROM server_crashes')).toEqual([]);
  const starts = await rows().countBy(Operation, { resourceId: on, type: 'lxc.power' });
  await report(true);
  expect(await rows().countBy(Operation, { resourceId: on, type: 'lxc.power' })).toBe(starts);
}, 60_000);

test('each state allows what the table says', async () => {
  const id = await running();
  await quiet(id);
  const power = app.api.get(MachinePowerService);
  for (const state of MACHINE_STATUSES) {
    for (const action of ['start', 'stop', 'restart'] as const) {
      await rows().update(Machine, { id }, { status: state });
      const sent = power.send(caller, id, action);
      if (state === 'DELETING') await expect(sent).rejects.toMatchObject({ kind: 'not_found' });
      else if (ALLOWED_ACTIONS[state][action] === 'refuse')
        await expect(sent).rejects.toMatchObject({ code: 'state_conflict' });
      else await expect(sent).resolves.toMatchObject({ resourceId: id });
      await quiet(id);
    }
  }
}, 60_000);
