import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Answer, Api } from '../../support/api.js';
import { startBerth, type Berth } from '../../support/app.js';
import { until } from '../../support/until.js';

interface Backup {
  uuid: string;
  status: string;
  isLocked: boolean;
}

/** What backups are by the rows, on simulated containers: limits, locks, states, and what becomes of their blobs. */
describe('backups', () => {
  let berth: Berth;

  beforeAll(async () => {
    berth = await startBerth();
    await berth.database.query("UPDATE plans SET backups = 2 WHERE id = 'pro'");
  });
  afterAll(() => berth?.close());

  /** A service of an account of its own. */
  async function service(): Promise<{ api: Api; path: string; id: string }> {
    const { api } = await berth.makeAccount();
    const wanted = { name: 'backups', runtime: 'nodejs', ram: 128, disk: 512, cpu: 25 };
    const { id } = (await api.post('/servers', wanted)).expect(201).body as { id: string };
    await api.waitFor(`/servers/${id}`, 'RUNNING');
    return { api, id, path: `/servers/${id}/backups` };
  }

  async function backUp(api: Api, path: string): Promise<Backup> {
    const { uuid } = (await api.post(path)).expect(201).body as Backup;
    return ready(api, path, uuid);
  }

  async function ready(api: Api, path: string, uuid: string): Promise<Backup> {
    const backup = (await api.waitFor(`${path}/${uuid}`, 'READY')).body as Backup;
    await free(path.split('/')[2]!);
    return backup;
  }

  /** The operation has ended with the backup, or a moment after. */
  async function free(id: string): Promise<void> {
    const running = 'SELECT id FROM operations WHERE resource_id = ? AND active_key IS NOT NULL';
    await until('no operation', async () => (await berth.database.query(running, [id])).length === 0);
  }

  async function list(api: Api, path: string): Promise<Backup[]> {
    return (await api.get(path)).expect(200).body as Backup[];
  }

  async function blobOf(uuid: string): Promise<string> {
    const [row] = await berth.database.query<{ blob_id: string }[]>(
      'SELECT blob_id FROM server_backups WHERE uuid = ?',
      [uuid],
    );
    return row!.blob_id;
  }

  function blobs(): string[] {
    const folder = fileURLToPath(berth.env['OBJECT_STORE_URL']!);
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    return names.filter((name) => statSync(join(folder, name)).isFile());
  }

  async function restored(api: Api, answer: Answer): Promise<{ status: string; error: { code: string } | null }> {
    const { operationId } = answer.expect(202).body as { operationId: string };
    return (await api.waitFor(`/operations/${operationId}`, ['DONE', 'FAILED'])).body;
  }

  test('of fifty asked for at once where one place is left, one is made', async () => {
    const { api, path, id } = await service();
    await backUp(api, path);
    const answers = await Promise.all(Array.from({ length: 50 }, () => api.post(path)));
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(1);
    for (const { status, body } of answers.filter((answer) => answer !== made[0])) {
      expect([`409 busy`, '403 quota_exceeded']).toContain(`${status} ${body.code}`);
    }
    await ready(api, path, made[0]!.body.uuid);
    const refused = (await api.post(path)).expect(403).body;
    expect(refused.limit).toEqual({ name: 'backups', allowed: 2, used: 2, requested: 1 });
    expect(await list(api, path)).toHaveLength(2);
    expect(await berth.database.query('SELECT id FROM server_backups WHERE server_id = ?', [id])).toHaveLength(2);
  });

  test('a scheduled one takes the place of the oldest that is not locked, once it is complete', async () => {
    const { api, path, id } = await service();
    const [first, second] = [await backUp(api, path), await backUp(api, path)];
    (await api.post(`${path}/${first.uuid}/lock`)).expect(200);
    const { id: schedule } = (await api.post(`/servers/${id}/schedules`, { name: 'nightly' })).expect(201).body;
    (await api.post(`/servers/${id}/schedules/${schedule}/tasks`, { action: 'backup' })).expect(201);
    const execute = () => api.post(`/servers/${id}/schedules/${schedule}/execute`).then((answer) => answer.expect(202));
    await execute();
    const names = await until('the second one is replaced', async () => {
      const all = await list(api, path);
      return all.some(({ uuid }) => uuid === second.uuid) ? null : all;
    });
    expect(names).toHaveLength(2);
    expect(names[1]).toMatchObject({ uuid: first.uuid, isLocked: true });
    expect(names[0]).toMatchObject({ status: 'READY' });
    await free(id);

    (await api.post(`${path}/${names[0]!.uuid}/lock`, { locked: true })).expect(200);
    await until(
      'the run has ended',
      async () => (await api.get(`/servers/${id}/schedules/${schedule}/runs`)).body[0].status === 'DONE',
    );
    await execute();
    await until('the next run has failed', async () => {
      const [run] = (await api.get(`/servers/${id}/schedules/${schedule}/runs`)).body as { status: string }[];
      return run!.status === 'FAILED';
    });
    expect((await list(api, path)).map(({ uuid }) => uuid)).toEqual(names.map(({ uuid }) => uuid));
  });

  test('a locked one is not deleted; unlocked, its blob goes before its row', async () => {
    const { api, path } = await service();
    const { uuid } = await backUp(api, path);
    const blob = await blobOf(uuid);
    expect(blobs().some((file) => file.endsWith(blob))).toBe(true);
    expect((await api.post(`${path}/${uuid}/lock`)).expect(200).body).toMatchObject({ uuid, isLocked: true });
    expect((await api.post(`${path}/${uuid}/lock`, { locked: true })).expect(200).body).toMatchObject({
      isLocked: true,
    });
    expect((await api.delete(`${path}/${uuid}`)).expect(409).body).toMatchObject({ code: 'backup_locked' });
    (await api.post(`${path}/${uuid}/lock`, { locked: false })).expect(200);
    (await api.delete(`${path}/${uuid}`)).expect(204);
    (await api.delete(`${path}/${uuid}`)).expect(404);
    expect(await list(api, path)).toEqual([]);
    await until('the row goes', async () => {
      const rows = await berth.database.query('SELECT id FROM server_backups WHERE uuid = ?', [uuid]);
      if (rows.length > 0) return false;
      expect(blobs().some((file) => file.endsWith(blob))).toBe(false);
      return true;
    });
  });

  test.each(['INSTALLING', 'INSTALL_FAILED', 'REINSTALLING', 'RESTORING'])(
    'none is made or restored of a service that is %s',
    async (status) => {
      const { api, path, id } = await service();
      const { uuid } = await backUp(api, path);
      await berth.database.query('UPDATE servers SET status = ? WHERE id = ?', [status, id]);
      for (const asked of [api.post(path), api.post(`${path}/${uuid}/restore`)]) {
        expect((await asked).expect(409).body).toMatchObject({ code: 'state_conflict', currentStatus: status });
      }
      expect(await list(api, path)).toHaveLength(1);
    },
  );

  test('one whose blob is lost is not restored, and the service goes on', async () => {
    const { api, path, id } = await service();
    const { uuid } = await backUp(api, path);
    const blob = await blobOf(uuid);
    rmSync(join(fileURLToPath(berth.env['OBJECT_STORE_URL']!), blob.slice(0, 2), blob.slice(2, 4), blob));
    expect(await restored(api, await api.post(`${path}/${uuid}/restore`))).toMatchObject({
      status: 'FAILED',
      error: { code: 'backup_missing' },
    });
    await api.waitFor(`/servers/${id}`, 'RUNNING');
    (await api.get(`${path}/${uuid}/download`)).expect(503);
    (await api.delete(`${path}/${uuid}`)).expect(204);
  });

  test('a download is recorded once for each caller, whichever part of it comes first', async () => {
    const { api, path, id } = await service();
    const [{ uuid }, other] = [await backUp(api, path), await backUp(api, path)];
    const part = (backup: string, range: string) => api.with({ range }).get(`${path}/${backup}/download`);
    const recorded = async (): Promise<string[]> => {
      const entries = (await api.get(`/servers/${id}/activity`)).expect(200).body as {
        event: string;
        properties: { uuid: string };
      }[];
      return entries.filter(({ event }) => event === 'server:backup.download').map(({ properties }) => properties.uuid);
    };
    const ranges = ['bytes=1-', 'bytes=2-2', 'bytes=-1', 'bytes=0-0'];
    for (const { status } of await Promise.all(ranges.map((range) => part(uuid, range)))) expect(status).toBe(206);
    expect(await recorded()).toEqual([uuid]);
    (await part(other.uuid, 'bytes=1-')).expect(206);
    expect(await recorded()).toEqual([other.uuid, uuid]);
    await berth.database.query('UPDATE activity_events SET actor_id = NULL WHERE resource_id = ?', [id]);
    (await part(uuid, 'bytes=1-')).expect(206);
    expect(await recorded()).toEqual([uuid, other.uuid, uuid]);
  });

  test('a restore ends as it began, and what needs the backup or the service meanwhile is told to wait', async () => {
    const { api, path, id } = await service();
    const { uuid } = await backUp(api, path);
    const answer = await api.post(`${path}/${uuid}/restore`);
    const during = await Promise.all([
      api.delete(`${path}/${uuid}`),
      api.post(path),
      api.post(`${path}/${uuid}/restore`),
      api.post(`/servers/${id}/power`, { signal: 'stop' }),
    ]);
    expect(await restored(api, answer)).toMatchObject({ status: 'DONE' });
    for (const { status } of during) expect(status).toBe(409);
    await api.waitFor(`/servers/${id}`, 'RUNNING');
    expect((await api.get(`${path}/${uuid}`)).body).toMatchObject({ status: 'READY' });
  });

  test('a deleted service takes its backups along', async () => {
    const { api, path, id } = await service();
    const [one, two] = [await backUp(api, path), await backUp(api, path)];
    (await api.post(`${path}/${one.uuid}/lock`)).expect(200);
    const files = [await blobOf(one.uuid), await blobOf(two.uuid)];
    (await api.delete(`/servers/${id}`)).expect(204);
    await until(
      'the service is gone',
      async () => (await berth.database.query('SELECT id FROM servers WHERE id = ?', [id])).length === 0,
    );
    expect(await berth.database.query('SELECT id FROM server_backups WHERE server_id = ?', [id])).toEqual([]);
    expect(blobs().filter((file) => files.some((blob) => file.endsWith(blob)))).toEqual([]);
  });
});
