import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { Engine } from '../../../src/drivers/engine/engine.js';
import { BlobStore } from '../../../src/drivers/objects/blob-store.js';
import { LeftoversWorker } from '../../../src/modules/instances/leftovers.worker.js';
import { Backup } from '../../../src/modules/servers/backups/backup.entity.js';
import { BackupsService } from '../../../src/modules/servers/backups/backups.service.js';
import { Archiver } from '../../../src/modules/servers/backups/lifecycle/archiver.js';
import { StreamingArchiver } from '../../../src/modules/servers/backups/lifecycle/streaming-archiver.js';
import { PowerService } from '../../../src/modules/servers/power/power.service.js';
import { ResizeService } from '../../../src/modules/servers/resize/resize.service.js';
import { Server } from '../../../src/modules/servers/server.entity.js';
import { engineName } from '../../../src/modules/servers/server.operations.js';
import { ServersService } from '../../../src/modules/servers/servers.service.js';
import type { Principal } from '../../../src/platform/auth/principal.js';
import { Operation } from '../../../src/platform/operations/operation.entity.js';
import { until } from '../../support/until.js';
import { ServersApp } from '../servers/servers-app.js';
import { FaultRun, type Change } from './fault-run.js';

const WANTED = { name: 'tested', runtime: 'nodejs' as const, ram: 128, disk: 512, cpu: 50 };

/** One kind of change to a service, and what the service is afterwards; null when there is none. */
interface ServiceChange extends Change {
  done: string | null;
}

let app: ServersApp;
let caller: Principal;
let faults: FaultRun<ServiceChange>;

const service = <T>(type: new (...args: never[]) => T): T => app.api.get(type);
const rows = () => app.database.source.manager;
const power = (id: string, action: 'start' | 'stop' | 'restart' | 'kill') =>
  service(PowerService).send(caller, id, action);

const created = async (): Promise<string> => (await service(ServersService).create(caller, WANTED)).id;

async function running(): Promise<string> {
  const id = await created();
  await faults.quiet([id]);
  return id;
}

async function stopped(): Promise<string> {
  const id = await running();
  await power(id, 'stop');
  await faults.quiet([id]);
  return id;
}

async function withBackup(): Promise<string> {
  const id = await running();
  await service(BackupsService).create(caller, id);
  await faults.quiet([id]);
  return id;
}

async function neverMade(): Promise<string> {
  const id = await running();
  await app.engine.deleteInstance(engineName(id));
  await rows().update(Server, { id }, { status: 'INSTALL_FAILED' });
  return id;
}

async function firstBackup(id: string): Promise<string> {
  return (await service(BackupsService).list(caller, id, { limit: 1 })).items[0]!.uuid;
}

const CHANGES: ServiceChange[] = [
  { name: 'create', type: 'server.create', prepare: null, ask: created, done: 'RUNNING' },
  {
    name: 'retry',
    type: 'server.create',
    prepare: neverMade,
    ask: (id) => service(ServersService).retry(caller, id),
    done: 'RUNNING',
  },
  {
    name: 'reinstall',
    type: 'server.reinstall',
    prepare: running,
    ask: (id) => service(ServersService).reinstall(caller, id),
    done: 'RUNNING',
  },
  {
    name: 'reinstall of a stopped one',
    type: 'server.reinstall',
    prepare: stopped,
    ask: (id) => service(ServersService).reinstall(caller, id),
    done: 'STOPPED',
  },
  {
    name: 'resize',
    type: 'server.resize',
    prepare: running,
    ask: (id) => service(ResizeService).resize(caller, id, { ram: 160, disk: 640, cpu: 75 }),
    done: 'RUNNING',
  },
  { name: 'start', type: 'server.power', prepare: stopped, ask: (id) => power(id, 'start'), done: 'RUNNING' },
  { name: 'stop', type: 'server.power', prepare: running, ask: (id) => power(id, 'stop'), done: 'STOPPED' },
  { name: 'restart', type: 'server.power', prepare: running, ask: (id) => power(id, 'restart'), done: 'RUNNING' },
  { name: 'kill', type: 'server.kill', prepare: running, ask: (id) => power(id, 'kill'), done: 'STOPPED' },
  {
    name: 'backup',
    type: 'server.backup',
    prepare: running,
    ask: (id) => service(BackupsService).create(caller, id),
    done: 'RUNNING',
  },
  {
    name: 'restore',
    type: 'server.restore',
    prepare: withBackup,
    ask: async (id) => service(BackupsService).restore(caller, id, await firstBackup(id)),
    done: 'RUNNING',
  },
  {
    name: 'delete',
    type: 'server.delete',
    prepare: withBackup,
    ask: (id) => service(ServersService).delete(caller, id),
    done: null,
  },
];

describe('any call about a service that goes wrong', () => {
  beforeAll(async () => {
    app = await ServersApp.start({
      PORT_RANGE: '26000-27999',
      STOP_TIMEOUT_SECONDS: '2',
      // What stands at its point keeps its place.
      BACKUP_CONCURRENCY: '1000',
    });
    caller = await app.makeCaller('ada');
    await app.database.source.query(
      "UPDATE plans SET servers = 10000, ram = 1000000, disk = 10000000, cpu = 1000000, backups = 5 WHERE id = 'pro'",
    );
    faults = new FaultRun({
      app,
      engineName,
      kinds: ['away', 'unheard', 'dies before', 'dies after'],
      startWorker: ({ engine }) =>
        app.startWorker(
          [],
          [
            { provide: Engine, useValue: engine },
            {
              provide: Archiver,
              inject: [BlobStore],
              useFactory: (blobs: BlobStore) => new StreamingArchiver(engine, blobs),
            },
          ],
        ),
    });
    await faults.run(CHANGES);
  }, 300_000);

  afterAll(async () => {
    faults?.stop();
    await app?.close();
  });

  /** What a service is by its rows, and what it is in the engine. */
  async function bothSides(id: string): Promise<{ rows: unknown; engine: unknown }> {
    const row = await rows().findOneBy(Server, { id });
    const instance = await app.engine.getInstance(engineName(id)).catch(() => null);
    const volume = await app.engine.getVolume(engineName(id)).catch(() => null);
    return {
      rows: row && {
        state: row.status === 'STOPPED' ? 'stopped' : 'running',
        limits: { memoryMb: row.ram, cpuPercent: row.cpu },
        diskMb: row.disk,
      },
      engine: instance && {
        state: instance.state,
        limits: { memoryMb: instance.limits.memoryMb, cpuPercent: instance.limits.cpuPercent },
        diskMb: volume?.sizeMb,
      },
    };
  }

  test('comes to all of them', () => {
    expect(faults.ahead).toEqual([]);
    expect(faults.cases.length).toBeGreaterThan(150);
  });

  test.each(CHANGES)('$name: ends once, and the rows say what there is', async (change) => {
    const mine = faults.cases.filter((one) => one.change === change);
    const { calls, events: wanted } = faults.undisturbed.get(change)!;
    const found = await Promise.all(
      mine.map(async ({ fault, id }) => {
        const operations = await rows().findBy(Operation, { resourceId: id });
        const row = await rows().findOneBy(Server, { id });
        const sides = await bothSides(id);
        return {
          at: `${fault!.kind} ${fault!.nth} ${calls[fault!.nth - 1]}`,
          operations: operations.map(({ type, status }) => `${type} ${status}`),
          status: row?.status ?? null,
          engine: sides.engine,
          rows: sides.rows,
          events: faults.eventsOf(id),
        };
      }),
    );
    expect(found).toEqual(
      mine.map(({ fault }, index) => ({
        at: `${fault!.kind} ${fault!.nth} ${calls[fault!.nth - 1]}`,
        operations: [`${change.type} DONE`],
        status: change.done,
        engine: found[index]!.rows,
        rows: found[index]!.rows,
        events: wanted,
      })),
    );
  });

  test('every backup is whole, and there are no others', async () => {
    const backups = await rows().find(Backup);
    expect(new Set(backups.map(({ status }) => status))).toEqual(new Set(['READY']));
    const store = app.api.get(BlobStore);
    const stored: string[] = [];
    for await (const { blobId } of store.list()) stored.push(blobId);
    expect(stored.sort()).toEqual(backups.map(({ blobId }) => blobId!).sort());
    for (const { blobId, checksum } of backups) {
      const bytes = await buffer(await store.get(blobId!));
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(checksum);
    }
  });

  test('nothing is left that no row owns', async () => {
    const context = await app.startWorker();
    await context.get(LeftoversWorker).reconcile();
    const ids = (await rows().find(Server, { select: { id: true } })).map(({ id }) => engineName(id)).sort();
    await until('only what rows own', async () => {
      const [instances, volumes] = await Promise.all([app.engine.listInstances(), app.engine.listVolumes()]);
      const names = [instances, volumes].map((all) => all.map(({ name }) => name).sort());
      return names.every((found) => JSON.stringify(found) === JSON.stringify(ids));
    });
  });
});
