import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { engineName } from '../../src/modules/servers/server.operations.js';
import type { Api } from '../support/api.js';
import type { FaultPoint } from '../support/engine-proxy.js';
import { createServer, Hosting, onEngine, reach, type Server } from './support/hosting.js';
import { KilledWorker, pointsUnderWay } from './support/killed-worker.js';
import { Program } from './support/program.js';

jest.setTimeout(600_000);

/** Each is interrupted at several of the points, one after the other. */
const SERVICES = 3;

interface BackupRow {
  server_id: string;
  uuid: string;
  status: string;
  bytes: string;
  checksum: string;
  blob_id: string;
}

/** What removes the copy of a backup, which has ended by then. */
const TIDIES_UP = /DELETE \S+bak-X|bak-X\S* stop/;

/** A point, whatever the workshop in it is for. */
function ofWorkshop({ what, occurrence, when }: FaultPoint): string {
  return `${what.replace(/\/(bak|rst)-/, '/')} ${occurrence} ${when}`;
}

/**
 * A worker is killed in a backup and in a restore while the engine is busy with any of its requests. Several points are tried
 * at once, on services of their own, and the workers that follow have to bring every service to the same end.
 */
onEngine('a worker that is killed in the middle of a backup or a restore', () => {
  let hosting: Hosting;
  let worker: KilledWorker;
  let api: Api;
  let points: Record<'backup' | 'restore', FaultPoint[]>;
  let servers: Server[];

  beforeAll(async () => {
    hosting = await Hosting.start({ roles: ['api', 'node'] });
    api = (await hosting.berth.makeAccount()).api;
    // What stands at its point keeps its place.
    worker = await KilledWorker.start(hosting, { BACKUP_CONCURRENCY: '100' });
    const pilot = await reach(api, (await createServer(api)).id, 'RUNNING', 120);
    const backup = await learn(() => backUp(pilot));
    const known = new Set(backup.map(ofWorkshop));
    // The workshop's coming and going is the same in both; what is run in it is not.
    const own = (point: FaultPoint) => point.what.endsWith('/exec') || !known.has(ofWorkshop(point));
    points = { backup, restore: (await learn(() => restore(pilot))).filter(own) };
    (await api.delete(`/servers/${pilot.id}`)).expect(204);
    const made = await Promise.all(Array.from({ length: SERVICES }, () => createServer(api)));
    servers = await Promise.all(made.map(({ id }) => reach(api, id, 'RUNNING', 120)));
    await hosting.untilQuiet(120_000);
  });

  afterAll(async () => {
    await worker?.close();
    await hosting?.close();
  });

  async function learn(ask: () => Promise<unknown>): Promise<FaultPoint[]> {
    const before = worker.proxy.seen.length;
    await ask();
    await hosting.untilQuiet();
    const [{ id }] = (await hosting.rows<{ id: string }>('SELECT id FROM servers')) as [{ id: string }];
    const all = pointsUnderWay(worker.proxy.requestsOf(engineName(id), before));
    return all.filter(({ what }) => !TIDIES_UP.test(what));
  }

  async function backUp({ id }: Server): Promise<unknown> {
    return (await api.post(`/servers/${id}/backups`)).expect(201);
  }

  async function restore({ id }: Server): Promise<unknown> {
    const [backup] = await backups(id);
    return (await api.post(`/servers/${id}/backups/${backup!.uuid}/restore`)).expect(202);
  }

  function backups(serverId = '%'): Promise<BackupRow[]> {
    return hosting.rows<BackupRow>('SELECT * FROM server_backups WHERE server_id LIKE ? ORDER BY server_id', [
      serverId,
    ]);
  }

  async function interrupted(kind: keyof typeof points, ask: (server: Server) => Promise<unknown>): Promise<void> {
    for (const [index, fault] of points[kind].entries()) {
      worker.proxy.hold(engineName(servers[index % SERVICES]!.id), fault);
    }
    await Promise.all(servers.map(ask));
    await worker.interrupt();
    expect(worker.proxy.ahead).toEqual([]);
  }

  /** Runs a script as the service's user; answers what it printed. */
  async function inside({ id }: Server, script: string): Promise<string> {
    const session = await hosting.engine.exec(engineName(id), {
      command: ['/bin/sh', '-ec', script],
      user: 1000,
      group: 1000,
      cwd: '/home/container',
      environment: { PATH: '/usr/bin:/bin' },
    });
    session.stdin.end();
    session.stderr.resume();
    const [output, code] = await Promise.all([text(session.stdout), session.exit]);
    if (code !== 0) throw new Error(`the script inside ended with ${code}`);
    return output;
  }

  const everywhere = (script: string) => Promise.all(servers.map((server) => inside(server, script)));

  /** Each operation ended well, its end was told once, and neither the engine nor the object store has more than the rows. */
  async function expectNoTrace(event: string): Promise<void> {
    const columns = 'type, status, step, error_code, error_detail, attempts, failures';
    expect(await hosting.rows(`SELECT ${columns} FROM operations WHERE status <> 'DONE'`)).toEqual([]);
    const ids = servers.map(({ id }) => id).sort();
    await hosting.expectExactly(ids);
    const told = await hosting.rows<{ id: string }>(
      'SELECT resource_id AS id FROM activity_events WHERE event = ? ORDER BY resource_id',
      [event],
    );
    expect(told.map(({ id }) => id).filter((id) => ids.includes(id))).toEqual(ids);

    const rows = await backups();
    expect(rows.map(({ server_id, status }) => ({ id: server_id, status }))).toEqual(
      ids.map((id) => ({ id, status: 'READY' })),
    );
    const folder = fileURLToPath(hosting.berth.env.OBJECT_STORE_URL!);
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((name) => join(folder, name))
      .filter((file) => statSync(file).isFile());
    expect(files.map((file) => basename(file)).sort()).toEqual(rows.map(({ blob_id }) => blob_id).sort());
    for (const { blob_id, bytes, checksum } of rows) {
      const content = readFileSync(files.find((file) => basename(file) === blob_id)!);
      expect([content.length, createHash('sha256').update(content).digest('hex')]).toEqual([Number(bytes), checksum]);
    }
  }

  test('while it backs up: each service has one backup, whole, and runs on', async () => {
    await everywhere('mkdir state; for n in $(seq 50); do echo "old $n" > state/$n; done');
    await interrupted('backup', backUp);
    await expectNoTrace('server:backup.complete');
    for (const server of servers) expect(await new Program(server).text()).toContain('Hello');
  });

  test('while it restores: each service has all of the old data and nothing else, and runs again', async () => {
    const list = 'ls state | sort -n | while read n; do cat state/$n; done';
    const [old] = await everywhere(list);
    await everywhere('for n in $(seq 100); do echo "new $n" > state/$n; done');
    await interrupted('restore', restore);
    await expectNoTrace('server:backup.restore-complete');
    const states = await hosting.rows<{ status: string }>('SELECT status FROM servers');
    expect(new Set(states.map(({ status }) => status))).toEqual(new Set(['RUNNING']));
    for (const server of servers) expect(await new Program(server).text()).toContain('Hello');
    expect(new Set(await everywhere(list))).toEqual(new Set([old]));
  });
});
