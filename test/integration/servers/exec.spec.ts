import { ActivityEvent } from '../../../src/platform/events/activity-event.entity.js';
import { EventRecorder, SYSTEM } from '../../../src/platform/events/event-recorder.js';
import type { Principal } from '../../../src/platform/auth/principal.js';
import { ExecService } from '../../../src/modules/servers/exec/exec.service.js';
import { PowerService } from '../../../src/modules/servers/power/power.service.js';
import { newId } from '../../../src/platform/ids/id.js';
import { until } from '../../support/until.js';
import { ServersApp } from './servers-app.js';

const MIB = 1024 * 1024;

let app: ServersApp;
let execs: ExecService;
let caller: Principal;

beforeAll(async () => {
  app = await ServersApp.start();
  await app.startWorker();
  execs = app.api.get(ExecService);
  caller = await app.makeCaller('commanding');
});
afterAll(() => app?.close());

async function run(serverId: string, command: string): Promise<string> {
  const { jobId } = await execs.run(caller, serverId, command);
  await until('its end', async () => (await execs.get(caller, serverId, jobId)).status === 'DONE');
  return jobId;
}

async function recorded(resourceId: string, event: string): Promise<object[]> {
  const entries = await app.database.source.manager.findBy(ActivityEvent, { resourceId, event });
  return entries.map(({ properties }) => properties);
}

test('the activity log shows the beginning of a command, and no half of a character', async () => {
  const id = await app.makeServer(caller);
  const beginning = `#${'a'.repeat(498)}`;
  const jobId = await run(id, `${beginning}😀 x`);
  expect(await recorded(id, 'server:exec.create')).toEqual([{ jobId, command: beginning }]);
});

test('what is no well-formed text is recorded as text that is', async () => {
  const resourceId = newId('srv');
  const properties = { ['\ud83d key']: ['\ud83d', 'x\ude00', '😀', '\\ud83d \\\ud83d \0 \\'], '\\udc00': null };
  const { manager } = app.database.source;
  const entry = { accountId: caller.accountId, resourceId, event: 'server:console.command', properties, ...SYSTEM };
  await app.api.get(EventRecorder).record({ manager }, entry);
  expect(await recorded(resourceId, 'server:console.command')).toEqual([
    { '\ufffd key': ['\ufffd', 'x\ufffd', '😀', '\\ud83d \\\ufffd \0 \\'], '\\udc00': null },
  ]);
});

test('of the outputs of a service the newest are kept, as far as there is room', async () => {
  const [id, other] = [await app.makeServer(caller), await app.makeServer(caller)];
  const ended = async (serverId: string, bytes: number): Promise<string> => {
    const jobId = await run(serverId, 'true');
    await app.database.query(
      "UPDATE server_execs SET stdout = REPEAT('o', ?), stderr = 'e', output_bytes = ? WHERE id = ?",
      [bytes - 1, bytes, jobId],
    );
    return jobId;
  };
  const untouched = await ended(other, 2 * MIB);
  const [first, second] = [await ended(id, 2 * MIB), await ended(id, 1 * MIB)];
  const small = await ended(id, 10);
  const large = [];
  for (let i = 0; i < 15; i++) large.push(await ended(id, 2 * MIB));
  const last = await ended(id, MIB - 10);
  await run(id, 'true');
  const gone = { stdout: '', stderr: '', truncated: true };
  expect(await execs.get(caller, id, first)).toMatchObject({ ...gone, status: 'DONE', exitCode: 0 });
  for (const jobId of [second, small, ...large, last, untouched]) {
    const { stderr, truncated } = await execs.get(caller, jobId === untouched ? other : id, jobId);
    expect([stderr, truncated]).toEqual(['e', false]);
  }
  await ended(id, 1);
  await run(id, 'true');
  expect(await execs.get(caller, id, second)).toMatchObject(gone);
  expect(await execs.get(caller, id, small)).toMatchObject({ stderr: 'e' });
  const [row] = await app.database.query<{ kept: unknown }[]>(
    'SELECT SUM(LENGTH(stdout) + LENGTH(stderr)) AS kept FROM server_execs WHERE server_id = ?',
    [id],
  );
  expect(Number(row!.kept)).toBeLessThanOrEqual(32 * MIB);
  expect((await execs.list(caller, id, { limit: 100 })).items).toHaveLength(22);
});

test('commands of one account keep nothing of another one waiting', async () => {
  const other = await app.makeCaller('beside');
  const theirs = await app.makeServer(other);
  // More than a worker takes off its queue at once, and each goes on for as long as it may.
  const ids = await Promise.all(Array.from({ length: 17 }, () => app.makeServer(caller)));
  const commands = ids.flatMap((id) =>
    ['sleep 59', 'sleep 59', 'sleep 59', 'sleep 59'].map((command) => ({ id, command })),
  );
  await Promise.all(commands.map(({ id, command }) => execs.run(caller, id, command)));
  const running = async () => {
    const columns = "SUM(status = 'RUNNING') AS running, SUM(status = 'QUEUED') AS queued";
    const [row] = await app.database.query<Record<string, unknown>[]>(`SELECT ${columns} FROM server_execs`);
    return [Number(row!['running']), Number(row!['queued'])];
  };
  await until('as many run as may', async () => (await running())[0] === 24);
  const { jobId } = await execs.run(other, theirs, 'true');
  await app.api.get(PowerService).send(other, theirs, 'restart');
  await app.status(theirs, 'RUNNING');
  expect(await running()).toEqual([24, commands.length - 24 + 1]);
  // The next place is theirs, however many have waited for longer.
  const [longest] = await app.database.query<{ id: string }[]>(
    "SELECT server_id AS id FROM server_execs WHERE status = 'RUNNING' LIMIT 1",
  );
  await app.api.get(PowerService).send(caller, longest!.id, 'kill');
  await until('their command has run', async () => (await execs.get(other, theirs, jobId)).status === 'DONE');
  expect((await running())[1]).toBeGreaterThan(30);
  await Promise.all(ids.map((id) => app.api.get(PowerService).send(caller, id, 'kill')));
  await until('all have ended', async () => (await running()).every((count) => count === 0));
});
