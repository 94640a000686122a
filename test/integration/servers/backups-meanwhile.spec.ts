import { randomBytes } from 'node:crypto';
import { IsNull, Not } from 'typeorm';
import { BlobStore } from '../../../src/drivers/objects/blob-store.js';
import { Backup } from '../../../src/modules/servers/backups/backup.entity.js';
import { BackupsService } from '../../../src/modules/servers/backups/backups.service.js';
import { Archiver, type PackJob } from '../../../src/modules/servers/backups/lifecycle/archiver.js';
import { StreamingArchiver } from '../../../src/modules/servers/backups/lifecycle/streaming-archiver.js';
import type { Principal } from '../../../src/platform/auth/principal.js';
import { Database } from '../../../src/platform/database/database.js';
import { Operation } from '../../../src/platform/operations/operation.entity.js';
import { until } from '../../support/until.js';
import { ServersApp } from './servers-app.js';

type Packing = (job: PackJob) => Promise<void>;

/** What happens to a service's backups while one more is being made. */
describe('while a backup is made', () => {
  let app: ServersApp;
  let backups: BackupsService;
  let beforePacking: Packing;

  beforeAll(async () => {
    app = await ServersApp.start();
    backups = app.api.get(BackupsService);
    await app.api.get(Database).manager.query("UPDATE plans SET backups = 2 WHERE id = 'pro'");
    const useFactory = (blobs: BlobStore): Archiver => {
      const archiver = new StreamingArchiver(app.engine, blobs);
      const pack = archiver.pack.bind(archiver);
      archiver.pack = async (job, signal, opened) => {
        await beforePacking(job);
        return pack(job, signal, opened);
      };
      return archiver;
    };
    await app.startWorker([], [{ provide: Archiver, inject: [BlobStore], useFactory }]);
  });
  beforeEach(() => {
    beforePacking = () => Promise.resolve();
  });
  afterAll(() => app?.close());

  /** A service of an account of its own that has two backups, all that its plan allows. */
  async function full(): Promise<{ caller: Principal; id: string; first: string; second: string }> {
    const caller = await app.makeCaller(`test-${randomBytes(4).toString('hex')}`);
    const id = await app.makeServer(caller);
    const made: string[] = [];
    for (let count = 0; count < 2; count++) {
      made.push((await backups.create(caller, id)).uuid);
      await free(id);
    }
    return { caller, id, first: made[0]!, second: made[1]! };
  }

  async function free(resourceId: string): Promise<void> {
    const { manager } = app.api.get(Database);
    await until(
      'no operation',
      async () => !(await manager.existsBy(Operation, { resourceId, activeKey: Not(IsNull()) })),
    );
  }

  function rows(serverId: string): Promise<Backup[]> {
    return app.api
      .get(Database)
      .manager.find(Backup, { where: { serverId, deletedAt: IsNull() }, order: { id: 'ASC' } });
  }

  /** A scheduled one is made; `meanwhile` happens before its archive is. */
  async function scheduled(id: string, meanwhile: Packing): Promise<string[]> {
    let outcome = Promise.resolve();
    beforePacking = (job) => {
      outcome = meanwhile(job);
      return outcome.catch(() => undefined);
    };
    await app.api.get(Database).transaction((tx) => backups.startScheduled(tx, id));
    await free(id);
    await outcome;
    return (await rows(id)).map(({ uuid, status }) => `${status} ${uuid}`);
  }

  test('the last one that a scheduled one can replace is not locked', async () => {
    const { caller, id, first, second } = await full();
    const left = await scheduled(id, async () => {
      await backups.lock(caller, id, first, true);
      const refused = backups.lock(caller, id, second, true);
      await expect(refused).rejects.toMatchObject({ code: 'backup_being_replaced' });
    });
    expect(left).toEqual([`READY ${first}`, expect.stringContaining('READY')]);
    expect(left.join()).not.toContain(second);
    await backups.lock(caller, id, left[1]!.replace('READY ', ''), true);
  });

  test('where one was deleted, a scheduled one replaces none', async () => {
    const { caller, id, first, second } = await full();
    const left = await scheduled(id, () => backups.delete(caller, id, second));
    expect(left).toEqual([`READY ${first}`, expect.stringContaining('READY')]);
  });

  test('whoever lost it to another worker leaves the row to that one', async () => {
    const { caller, id, first } = await full();
    await backups.delete(caller, id, first);
    const { manager } = app.api.get(Database);
    const packed: string[] = [];
    beforePacking = async ({ blobId }) => {
      packed.push(blobId);
      if (packed.length === 1) await manager.update(Backup, { blobId }, { blobId: randomBytes(16).toString('hex') });
    };
    const { uuid } = await backups.create(caller, id);
    await free(id);
    expect(packed).toHaveLength(2);
    expect((await rows(id)).find((backup) => backup.uuid === uuid)).toMatchObject({
      status: 'READY',
      blobId: packed[1],
    });
  });
});
