import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Api } from '../support/api.js';
import { until } from '../support/until.js';
import { backUp, obedient, restore, restored, type Backup, type Obedient } from './support/backing-up.js';
import { listOddFiles, makeOddFiles, readFile, startWriter, writeFile } from './support/data-set.js';
import { engineName } from '../../src/modules/servers/server.operations.js';
import { activity, ended, Hosting, onEngine, powered, reach } from './support/hosting.js';

const run = promisify(execFile);

onEngine('backups', () => {
  let hosting: Hosting;
  let sockets: string;
  let api: Api;
  /** What most tests work on. Those that delete a service make one of their own. */
  let shared: Obedient;

  beforeAll(async () => {
    sockets = mkdtempSync(join(tmpdir(), 'berth-sockets-'));
    hosting = await Hosting.start({ env: { WORKSHOP_SOCKET_DIR: sockets } });
    await hosting.berth.database.query("UPDATE plans SET backups = 100 WHERE id = 'pro'");
    api = (await hosting.berth.makeAccount()).api;
    shared = await obedient(api, { disk: 1024 });
  });

  afterEach(async () => {
    for (const { id } of (await api.get('/servers')).expect(200).body as { id: string }[]) {
      if (id !== shared.server.id) (await api.delete(`/servers/${id}`)).expect(204);
    }
    await hosting.untilQuiet(60_000);
    await hosting.expectExactly([shared.server.id]);
    expect(readdirSync(sockets)).toEqual([]);
  });
  afterAll(async () => {
    await hosting?.close();
    rmSync(sockets, { recursive: true });
  });

  /** Files of the object store. */
  function blobs(): string[] {
    const folder = fileURLToPath(hosting.berth.env.OBJECT_STORE_URL!);
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((name) => join(folder, name))
      .filter((file) => statSync(file).isFile());
  }

  async function blobOf({ uuid }: Backup): Promise<string> {
    const [row] = await hosting.rows<{ blob_id: string }>('SELECT blob_id FROM server_backups WHERE uuid = ?', [uuid]);
    return blobs().find((file) => file.endsWith(row!.blob_id))!;
  }

  async function download(path: string, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(`${hosting.berth.baseUrl}/api/v1${path}`, { headers: { ...api.headers, ...headers } });
  }

  async function bytes(path: string): Promise<Buffer> {
    return Buffer.from(await (await download(path)).arrayBuffer());
  }

  test('a restore brings back what was there, to the last bit of it, and nothing else', async () => {
    const { server, program } = shared;
    await program.run('sh', '-c', 'chmod -R u+rwx odd; rm -rf odd');
    await makeOddFiles(program);
    const before = await listOddFiles(program);
    expect(Object.keys(before).length).toBeGreaterThan(40);
    const backup = await backUp(api, server.id, 'odd files');
    expect(backup).toMatchObject({ name: 'odd files', status: 'READY', checksumType: 'sha256', isLocked: false });

    await program.run(
      'rm',
      '-rf',
      '/home/container/odd/random',
      '/home/container/odd/sticky',
      '/home/container/index.js',
    );
    await writeFile(program, 'odd/new', 'not in the backup');
    await restored(api, server.id, backup.uuid);
    expect(await listOddFiles(program)).toEqual(before);

    const archive = await bytes(`/servers/${server.id}/backups/${backup.uuid}/download`);
    expect(archive.length).toBe(backup.bytes);
    expect(createHash('sha256').update(archive).digest('hex')).toBe(backup.checksum);
    // Holes are no bytes, neither here nor there.
    expect(archive.length).toBeLessThan(8 << 20);
    await hosting.expectExactly([server.id]);
    const names = (await activity(api, server.id))
      .filter(({ properties }) => properties.uuid === backup.uuid)
      .map(({ event }) => event);
    expect(names).toEqual(
      ['start', 'complete', 'restore', 'restore-complete', 'download'].map((name) => `server:backup.${name}`),
    );
  });

  test('the archive is what any tar reads', async () => {
    const { server, program } = shared;
    await writeFile(program, 'hello', 'there');
    const { uuid } = await backUp(api, server.id);
    const file = join(hosting.berth.env.OBJECT_STORE_URL!.slice('file://'.length), 'downloaded');
    writeFileSync(file, await bytes(`/servers/${server.id}/backups/${uuid}/download`));
    const { stdout } = await run('tar', ['--zstd', '-xOf', file, './hello']);
    expect(stdout).toBe('there');
  });

  test('a backup of a program that writes is of one moment, and nobody waits for it', async () => {
    const { server, program } = shared;
    await startWriter(program);
    await until('something written', async () => Number(await readFile(program, 'second')) > 100);
    const { uuid } = (await api.post(`/servers/${server.id}/backups`)).expect(201).body as Backup;
    // The main lane is free meanwhile.
    expect((await powered(api, server.id, 'restart')).body).toMatchObject({ status: 'DONE' });
    await api.waitFor(`/servers/${server.id}/backups/${uuid}`, 'READY', 60);
    await restored(api, server.id, uuid);
    const [first, second] = [Number(await readFile(program, 'first')), Number(await readFile(program, 'second'))];
    expect(second).toBeGreaterThan(100);
    expect([second, second + 1]).toContain(first);
  });

  test('a stopped service stays stopped, and a resized one keeps its size', async () => {
    const { server, program } = shared;
    (await api.patch(`/servers/${server.id}/resources`, { disk: 1024 })).expect(200);
    await writeFile(program, 'state', 'old');
    const { uuid } = await backUp(api, server.id);
    await writeFile(program, 'state', 'new');
    (await api.patch(`/servers/${server.id}/resources`, { disk: 1280 })).expect(200);
    await powered(api, server.id, 'stop');
    await restored(api, server.id, uuid, 'STOPPED');
    const [volume] = await hosting.engine.listVolumes().then((all) => all.filter(({ owner }) => owner === server.id));
    expect(volume).toMatchObject({ sizeMb: 1280 });
    await powered(api, server.id, 'start');
    expect(await readFile(program, 'state')).toBe('old');
  });

  test('a service that is killed meanwhile stands still at once, and stays so with what was restored', async () => {
    const { server, program } = shared;
    await writeFile(program, 'state', 'old');
    const { uuid } = await backUp(api, server.id);
    await writeFile(program, 'state', 'new');
    const { body } = (await api.post(`/servers/${server.id}/backups/${uuid}/restore`)).expect(202);
    expect((await powered(api, server.id, 'kill')).body).toMatchObject({ status: 'DONE' });
    expect((await ended(api, (body as { operationId: string }).operationId)).body).toMatchObject({ status: 'DONE' });
    expect((await api.get(`/servers/${server.id}`)).body).toMatchObject({ status: 'STOPPED' });
    expect((await hosting.engine.getInstance(engineName(server.id))).state).toBe('stopped');
    await powered(api, server.id, 'start');
    expect(await readFile(program, 'state')).toBe('old');
  });

  test('an archive that was tampered with is refused before anything is touched', async () => {
    const { server, program } = shared;
    await writeFile(program, 'state', 'old');
    const backup = await backUp(api, server.id);
    await writeFile(program, 'state', 'new');
    const started = (await hosting.engine.getInstance(engineName(server.id))).startedAt;
    const file = await blobOf(backup);
    const content = readFileSync(file);
    content[content.length >> 1]! ^= 1;
    writeFileSync(file, content);
    expect(await restore(api, server.id, backup.uuid)).toMatchObject({
      status: 'FAILED',
      error: { code: 'backup_damaged' },
    });
    writeFileSync(file, content.subarray(0, content.length - 1));
    expect(await restore(api, server.id, backup.uuid)).toMatchObject({
      status: 'FAILED',
      error: { code: 'backup_damaged' },
    });
    expect((await api.get(`/servers/${server.id}`)).body).toMatchObject({ status: 'RUNNING' });
    expect(await readFile(program, 'state')).toBe('new');
    expect((await hosting.engine.getInstance(engineName(server.id))).startedAt).toEqual(started);
    await hosting.expectExactly([server.id]);
  });

  test('data that does not fit any more is refused, and the service stays as it was', async () => {
    const { server, program } = shared;
    (await api.patch(`/servers/${server.id}/resources`, { disk: 1280 })).expect(200);
    await program.run('sh', '-c', 'yes | head -c 600M > /home/container/large');
    const { uuid } = await backUp(api, server.id);
    await program.run('rm', '/home/container/large');
    await writeFile(program, 'state', 'new');
    await until('smaller disk', async () => {
      const { status } = await api.patch(`/servers/${server.id}/resources`, { disk: 512 });
      return status === 200;
    });
    expect(await restore(api, server.id, uuid)).toMatchObject({ status: 'FAILED', error: { code: 'disk_too_small' } });
    expect((await reach(api, server.id, 'RUNNING')).limits.disk).toBe(512);
    expect(await readFile(program, 'state')).toBe('new');
    await hosting.expectExactly([server.id]);
  });

  test('of files that share their data there is no archive without end, however well it compresses', async () => {
    const { server, program } = shared;
    const shares = 'head -c 67108864 /dev/zero > z && for i in $(seq 90); do cp --reflink=always z z$i || exit 1; done';
    await program.run('sh', '-c', `mkdir shared && cd shared && ${shares}`);
    const { uuid } = (await api.post(`/servers/${server.id}/backups`)).expect(201).body as Backup;
    await api.waitFor(`/servers/${server.id}/backups/${uuid}`, 'FAILED', 120);
    const told = (await activity(api, server.id)).find(({ event }) => event === 'server:backup.fail');
    expect(told!.properties).toMatchObject({ uuid, code: 'backup_too_large' });
    await program.run('rm', '-r', 'shared');
    await backUp(api, server.id);
  });

  test('deleting one that is being made leaves nothing of it, and neither does deleting the service', async () => {
    const { server, program } = await obedient(api);
    await program.run('dd', 'if=/dev/urandom', 'of=/home/container/large', 'bs=1M', 'count=150');
    const { uuid } = (await api.post(`/servers/${server.id}/backups`)).expect(201).body as Backup;
    await until('the archive is being written', () => blobs().some((file) => file.endsWith('.part')));
    (await api.delete(`/servers/${server.id}/backups/${uuid}`)).expect(204);
    (await api.get(`/servers/${server.id}/backups/${uuid}`)).expect(404);
    await hosting.untilQuiet();
    await until(
      'no row is left',
      async () => (await hosting.rows('SELECT id FROM server_backups WHERE uuid = ?', [uuid])).length === 0,
    );
    await hosting.expectExactly([shared.server.id, server.id]);

    await backUp(api, server.id);
    (await api.post(`/servers/${server.id}/backups`)).expect(201);
    (await api.delete(`/servers/${server.id}`)).expect(204);
    await hosting.untilQuiet(60_000);
    await hosting.expectExactly([shared.server.id]);
    const rows = await hosting.rows<{ blob_id: string }>('SELECT blob_id FROM server_backups WHERE server_id = ?', [
      server.id,
    ]);
    expect(rows).toEqual([]);
    const owned = new Set(
      (await hosting.rows<{ blob_id: string }>('SELECT blob_id FROM server_backups')).map(({ blob_id }) => blob_id),
    );
    await until('no blob is left', () =>
      blobs().every((file) => owned.has(basename(file)) || file.endsWith('downloaded')),
    );
  });

  test('parts of it can be had, and nothing beyond', async () => {
    const { server } = shared;
    const backup = await backUp(api, server.id, 'a "name" of; its own ✓');
    const path = `/servers/${server.id}/backups/${backup.uuid}/download`;
    const whole = await bytes(path);
    const size = whole.length;
    const get = (headers: Record<string, string>) => download(path, headers);
    const etag = `"${backup.checksum}"`;

    const all = await get({});
    await all.body?.cancel();
    expect(Object.fromEntries(all.headers)).toMatchObject({
      'accept-ranges': 'bytes',
      'content-length': String(size),
      'content-type': 'application/zstd',
      'content-disposition': `attachment; filename="backup-${backup.uuid}.tar.zst"; filename*=UTF-8''a%20%22name%22%20of%3B%20its%20own%20%E2%9C%93.tar.zst`,
      etag,
    });
    const table: [range: string, from: number, to: number][] = [
      ['bytes=0-0', 0, 0],
      ['bytes=5-9', 5, 9],
      ['bytes=5-', 5, size - 1],
      ['bytes=-7', size - 7, size - 1],
      [`bytes=0-${size + 100}`, 0, size - 1],
      [`bytes=${size - 1}-`, size - 1, size - 1],
    ];
    for (const [range, from, to] of table) {
      const part = await get({ range });
      expect([range, part.status, part.headers.get('content-range')]).toEqual([
        range,
        206,
        `bytes ${from}-${to}/${size}`,
      ]);
      expect(Buffer.from(await part.arrayBuffer()).equals(whole.subarray(from, to + 1))).toBe(true);
    }
    for (const range of [`bytes=${size}-`, 'bytes=-0']) {
      const refused = await get({ range });
      expect([refused.status, refused.headers.get('content-range')]).toEqual([416, `bytes */${size}`]);
      expect(((await refused.json()) as { code: string }).code).toBe('range_not_satisfiable');
    }
    const status = async (headers: Record<string, string>) => {
      const answer = await get(headers);
      await answer.body?.cancel();
      return answer.status;
    };
    for (const range of ['bytes=1-2,4-5', 'bytes=9-2', 'lines=1-2', 'nonsense'])
      expect([range, await status({ range })]).toEqual([range, 200]);
    expect(await status({ range: 'bytes=0-0', 'if-range': etag })).toBe(206);
    expect(await status({ range: 'bytes=0-0', 'if-range': '"another"' })).toBe(200);
    const head = await fetch(`${hosting.berth.baseUrl}/api/v1${path}`, { method: 'HEAD', headers: api.headers });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(size)]);

    writeFileSync(await blobOf(backup), whole.subarray(1));
    expect(await status({})).toBe(503);
  });

  test('a restore that is broken off by the deletion of its service leaves nothing', async () => {
    const { server, program } = await obedient(api);
    await program.run('dd', 'if=/dev/urandom', 'of=/home/container/large', 'bs=1M', 'count=64');
    const { uuid } = await backUp(api, server.id);
    const { operationId } = (await api.post(`/servers/${server.id}/backups/${uuid}/restore`)).expect(202).body as {
      operationId: string;
    };
    (await api.get(`/servers/${server.id}/backups/${uuid}`)).expect(200);
    (await api.delete(`/servers/${server.id}/backups/${uuid}`)).expect(409);
    (await api.delete(`/servers/${server.id}`)).expect(204);
    await hosting.untilQuiet(60_000);
    await hosting.expectExactly([shared.server.id]);
    expect((await ended(api, operationId)).body.status).toMatch(/CANCELLED|DONE/);
  });
});
