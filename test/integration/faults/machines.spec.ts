import { Engine } from '../../../src/drivers/engine/engine.js';
import { LxcModule, LxcWorkerModule } from '../../../src/modules/lxc/lxc.module.js';
import { MachinePowerService } from '../../../src/modules/lxc/machine-power.service.js';
import { Machine } from '../../../src/modules/lxc/machine.entity.js';
import { engineName } from '../../../src/modules/lxc/machine.operations.js';
import { MachineRepository } from '../../../src/modules/lxc/machine.repository.js';
import { MachinesService } from '../../../src/modules/lxc/machines.service.js';
import { MachinePortsService } from '../../../src/modules/lxc/ports/machine-ports.service.js';
import { MachineResizeService } from '../../../src/modules/lxc/resize.service.js';
import { SnapshotsService } from '../../../src/modules/lxc/snapshots/snapshots.service.js';
import { LeftoversWorker } from '../../../src/modules/instances/leftovers.worker.js';
import type { Principal } from '../../../src/platform/auth/principal.js';
import { Operation } from '../../../src/platform/operations/operation.entity.js';
import { until } from '../../support/until.js';
import { ServersApp } from '../servers/servers-app.js';
import { FaultRun, type Change } from './fault-run.js';

const WANTED = {
  name: 'tested',
  image: 'debian/12',
  cpu: 1,
  ramMb: 512,
  diskGb: 4,
  sshKey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f nobody',
};

/** One kind of change to a machine, and what the machine is afterwards. */
interface MachineChange extends Change {
  /** Afterwards; null when there is none. */
  done: string | null;
  /** The same when a call of this kind fails for good. */
  failed(method: string): string | null;
}

let app: ServersApp;
let caller: Principal;
let faults: FaultRun<MachineChange>;

const service = <T>(type: new (...args: never[]) => T): T => app.api.get(type);
const rows = () => app.database.source.manager;
const power = (id: string, action: 'start' | 'stop' | 'restart') =>
  service(MachinePowerService).send(caller, id, action);

const quiet = (ids: string[]): Promise<void> => faults.quiet(ids);

async function running(): Promise<string> {
  const { id } = await service(MachinesService).create(caller, WANTED);
  await quiet([id]);
  return id;
}

async function withPort(): Promise<string> {
  const id = await running();
  await service(MachinePortsService).add(caller, id, { targetPort: 22, protocol: 'tcp' });
  return id;
}

/** Since the snapshot the limits were changed, one port was closed and another was opened. */
async function withSnapshot(): Promise<string> {
  const id = await withPort();
  await service(SnapshotsService).create(caller, id, { name: 'first' });
  await quiet([id]);
  await service(MachineResizeService).resize(caller, id, { ramMb: 640 });
  await service(MachinePortsService).remove(caller, id, await firstPort(id));
  await service(MachinePortsService).add(caller, id, { targetPort: 80, protocol: 'tcp' });
  await quiet([id]);
  return id;
}

async function stopped(): Promise<string> {
  const id = await running();
  await power(id, 'stop');
  await quiet([id]);
  return id;
}

async function neverMade(): Promise<string> {
  const id = await running();
  await app.engine.deleteInstance(engineName(id));
  await rows().update(Machine, { id }, { status: 'INSTALL_FAILED' });
  return id;
}

async function firstPort(id: string): Promise<string> {
  return (await service(MachineRepository).ports(id))[0]!.id;
}

async function firstSnapshot(id: string): Promise<string> {
  return (await service(SnapshotsService).list(caller, id))[0]!.id;
}

const CHANGES: MachineChange[] = [
  {
    name: 'create',
    type: 'lxc.create',
    prepare: null,
    ask: async () => (await service(MachinesService).create(caller, WANTED)).id,
    done: 'RUNNING',
    failed: () => 'INSTALL_FAILED',
  },
  {
    name: 'retry',
    type: 'lxc.create',
    prepare: neverMade,
    ask: (id) => service(MachinesService).retry(caller, id),
    done: 'RUNNING',
    failed: () => 'INSTALL_FAILED',
  },
  {
    name: 'resize',
    type: 'lxc.resize',
    prepare: running,
    ask: (id) => service(MachineResizeService).resize(caller, id, { cpu: 2, ramMb: 1024, diskGb: 5 }),
    done: 'RUNNING',
    failed: () => 'RUNNING',
  },
  {
    name: 'port added',
    type: 'lxc.ports',
    prepare: running,
    ask: (id) => service(MachinePortsService).add(caller, id, { targetPort: 22, protocol: 'tcp' }),
    done: 'RUNNING',
    failed: () => 'RUNNING',
  },
  {
    name: 'port removed',
    type: 'lxc.ports',
    prepare: withPort,
    ask: async (id) => service(MachinePortsService).remove(caller, id, await firstPort(id)),
    done: 'RUNNING',
    failed: () => 'RUNNING',
  },
  {
    name: 'snapshot made',
    type: 'lxc.snapshot',
    prepare: running,
    ask: (id) => service(SnapshotsService).create(caller, id, {}),
    done: 'RUNNING',
    failed: () => 'RUNNING',
  },
  {
    name: 'snapshot restored',
    type: 'lxc.restore',
    prepare: withSnapshot,
    ask: async (id) => service(SnapshotsService).restore(caller, id, await firstSnapshot(id)),
    done: 'RUNNING',
    failed: (method) => (method === 'stopInstance' ? 'RUNNING' : 'STOPPED'),
  },
  {
    name: 'snapshot deleted',
    type: 'lxc.snapshot-delete',
    prepare: withSnapshot,
    ask: async (id) => service(SnapshotsService).delete(caller, id, await firstSnapshot(id)),
    done: 'RUNNING',
    failed: () => 'RUNNING',
  },
  {
    name: 'start',
    type: 'lxc.power',
    prepare: stopped,
    ask: (id) => power(id, 'start'),
    done: 'RUNNING',
    failed: () => 'STOPPED',
  },
  {
    name: 'stop',
    type: 'lxc.power',
    prepare: running,
    ask: (id) => power(id, 'stop'),
    done: 'STOPPED',
    failed: () => 'RUNNING',
  },
  {
    name: 'restart',
    type: 'lxc.power',
    prepare: running,
    ask: (id) => power(id, 'restart'),
    done: 'RUNNING',
    failed: (method) => (method === 'startInstance' ? 'STOPPED' : 'RUNNING'),
  },
  {
    name: 'delete',
    type: 'lxc.delete',
    prepare: withSnapshot,
    ask: (id) => service(MachinesService).delete(caller, id),
    done: null,
    failed: () => 'DELETING',
  },
];

describe('any call that goes wrong', () => {
  beforeAll(async () => {
    app = await ServersApp.start({ PORT_RANGE: '26000-26999', STOP_TIMEOUT_SECONDS: '2' }, [LxcModule]);
    caller = await app.makeCaller('ada');
    await app.database.source.query("UPDATE plans SET machines = 1000 WHERE id = 'pro'");
    faults = new FaultRun({
      app,
      engineName,
      kinds: ['away', 'unheard', 'broken', 'dies before', 'dies after'],
      startWorker: ({ engine }) => app.startWorker([LxcWorkerModule], [{ provide: Engine, useValue: engine }]),
    });
    await faults.run(CHANGES);
  }, 300_000);

  afterAll(async () => {
    faults?.stop();
    await app?.close();
  });

  /** What a machine is by its rows, and what it is in the engine. */
  async function bothSides(id: string): Promise<{ rows: unknown; engine: unknown }> {
    const row = await rows().findOneBy(Machine, { id });
    const made = row !== null && row.status !== 'INSTALL_FAILED';
    const instance = await app.engine.getInstance(engineName(id)).catch(() => null);
    const shown = made ? await service(MachinesService).get(caller, id) : null;
    const snapshots = made ? await service(SnapshotsService).list(caller, id) : [];
    return {
      rows: made && {
        state: row.status === 'STOPPED' ? 'stopped' : 'running',
        address: shown!.ipv4,
        limits: { memoryMb: row.ramMb, cpuPercent: row.cpu * 100, processes: 4096 },
        ports: shown!.ports.map(({ publicPort, targetPort }) => `${publicPort} ${targetPort}`),
        snapshots: snapshots.map((snapshot) => `${engineName(snapshot.id)} ${snapshot.status}`),
      },
      engine: instance !== null && {
        state: instance.state,
        address: instance.address,
        limits: instance.limits,
        ports: instance.ports.map(({ listenPort, targetPort }) => `${listenPort} ${targetPort}`),
        snapshots: (await app.engine.listSnapshots(engineName(id))).map((name) => `${name} READY`),
      },
    };
  }

  test('comes to all of them', () => {
    expect(faults.ahead).toEqual([]);
    expect(faults.cases.length).toBeGreaterThan(80);
  });

  test.each(CHANGES)('$name: ends once, and the rows say what there is', async (change) => {
    const mine = faults.cases.filter((one) => one.change === change);
    const { calls, events: wanted } = faults.undisturbed.get(change)!;
    expect(mine.length).toBe(faults.faultsOf(change).length);
    const found = await Promise.all(
      mine.map(async ({ fault, id }) => {
        const ends = await rows().findBy(Operation, { resourceId: id });
        const row = await rows().findOneBy(Machine, { id });
        const sides = row?.status === 'DELETING' ? null : await bothSides(id);
        return {
          at: `${fault!.kind} ${calls[fault!.nth - 1]}`,
          operations: ends.map(({ type, status: how }) => `${type} ${how}`),
          machine: row?.status ?? null,
          engine: sides?.engine ?? null,
          rows: sides?.rows ?? null,
          events: fault!.kind === 'broken' ? null : faults.eventsOf(id),
        };
      }),
    );
    expect(found).toEqual(
      found.map(({ rows: wantedInEngine }, index) => {
        const { kind, nth } = mine[index]!.fault!;
        const method = calls[nth - 1]!;
        const failed = kind === 'broken';
        return {
          at: `${kind} ${method}`,
          operations: [`${change.type} ${failed ? 'FAILED' : 'DONE'}`],
          machine: failed ? change.failed(method) : change.done,
          engine: wantedInEngine,
          rows: wantedInEngine,
          events: failed ? null : wanted,
        };
      }),
    );
  });

  test('nothing is left that no row owns, and a deletion that failed is made good', async () => {
    const context = await app.startWorker([LxcWorkerModule]);
    await context.get(LeftoversWorker).reconcile();
    await until('deletions end', async () => (await rows().countBy(Machine, { status: 'DELETING' })) === 0);
    const machines = await rows().findBy(Machine, {});
    const made = machines.filter(({ status }) => status !== 'INSTALL_FAILED').map(({ id }) => engineName(id));
    const inEngine = (await app.engine.listInstances()).map(({ name }) => name);
    expect(inEngine.sort()).toEqual(made.sort());
    expect(await app.engine.listVolumes()).toEqual([]);
    const held = await app.database.query<{ machine_id: string }[]>(
      'SELECT machine_id FROM machine_addresses WHERE machine_id IS NOT NULL',
    );
    expect(held.map(({ machine_id }) => machine_id).sort()).toEqual(machines.map(({ id }) => id).sort());
    const [claims, ports] = await Promise.all(
      ['SELECT machine_port_id AS id FROM port_claims', 'SELECT id FROM machine_ports'].map((sql) =>
        app.database.query<{ id: string }[]>(sql),
      ),
    );
    expect(claims!.map(({ id }) => id).sort()).toEqual(ports!.map(({ id }) => id).sort());
  }, 60_000);
});
