import { NodesService } from '../../../src/modules/nodes/nodes.service.js';
import { ServerObserver } from '../../../src/modules/servers/observer/server-observer.service.js';
import { engineName } from '../../../src/modules/servers/server.operations.js';
import { CrashesService } from '../../../src/modules/servers/settings/crashes.service.js';
import { SettingsService } from '../../../src/modules/servers/settings/settings.service.js';
import type { Principal } from '../../../src/platform/auth/principal.js';
import { ServersApp } from './servers-app.js';

let app: ServersApp;
let caller: Principal;
let nodeId: string;

beforeAll(async () => {
  app = await ServersApp.start();
  await app.startWorker();
  caller = await app.makeCaller('crashing');
  nodeId = (await app.api.get(NodesService).list())[0]!.id;
});
afterAll(() => app?.close());

async function crash(id: string, output: string[]): Promise<void> {
  app.engine.crash(engineName(id), { code: 137, signal: 'SIGKILL', outOfMemory: true });
  const usage = { at: new Date('2026-01-02T03:04:05.678Z'), memoryBytes: 134_217_728, cpuPercent: 42.5 };
  const exit = { code: 137, signal: 'SIGKILL', outOfMemory: true };
  await app.api.get(ServerObserver).ended(nodeId, id, exit, { output, usage });
}

test('a crash keeps how it ended, what was printed and what was used before', async () => {
  const id = await app.makeServer(caller);
  await crash(id, ['a line', 'schöne 🙂 Zeile', '']);
  await app.status(id, 'RUNNING');
  const page = await app.api.get(CrashesService).list(caller, id, { limit: 10 });
  expect(page.items).toEqual([
    {
      id: expect.stringMatching(/^act_/) as unknown,
      at: expect.any(Date) as unknown,
      exitCode: 137,
      signal: 'SIGKILL',
      outOfMemory: true,
      restarted: true,
      usage: { memoryBytes: 134_217_728, cpuPercent: 42.5, at: new Date('2026-01-02T03:04:05.678Z') },
      output: ['a line', 'schöne 🙂 Zeile', ''],
    },
  ]);
});

test('with the switch off it stays down; only the newest crashes are kept', async () => {
  const id = await app.makeServer(caller);
  await app.api.get(SettingsService).setAutoRestart(caller, id, false);
  for (let number = 0; number < 27; number++) {
    await app.database.query("UPDATE servers SET status = 'RUNNING' WHERE id = ?", [id]);
    await crash(id, [`crash ${number}`]);
  }
  await app.status(id, 'CRASHED');
  const { items } = await app.api.get(CrashesService).list(caller, id, { limit: 100 });
  expect(items.map(({ output }) => output[0])).toEqual(Array.from({ length: 25 }, (_, index) => `crash ${26 - index}`));
  expect(items.every(({ restarted }) => !restarted)).toBe(true);
});

test('crashes of somebody else are not there', async () => {
  const id = await app.makeServer(caller);
  const stranger = await app.makeCaller('stranger');
  await expect(app.api.get(CrashesService).list(stranger, id, { limit: 10 })).rejects.toMatchObject({
    code: 'not_found',
  });
});
