import type { INestApplicationContext } from '@nestjs/common';
import { ScheduleClockWorker } from '../../../src/modules/servers/schedules/schedule-clock.worker.js';
import { ScheduleTaskWorker } from '../../../src/modules/servers/schedules/schedule-task.worker.js';
import { StartBudget } from '../../../src/modules/servers/schedules/start-budget.js';
import { SchedulesService } from '../../../src/modules/servers/schedules/schedules.service.js';
import type { TaskBackups, TaskConsole } from '../../../src/modules/servers/schedules/task-ports.js';
import type {
  CreateScheduleDto,
  CreateTaskDto,
  RunView,
} from '../../../src/modules/servers/schedules/dto/schedule.dto.js';
import type { Principal } from '../../../src/platform/auth/principal.js';
import { Database } from '../../../src/platform/database/database.js';
import { conflict } from '../../../src/platform/errors/domain-error.js';
import { newId } from '../../../src/platform/ids/id.js';
import { OperationsService } from '../../../src/platform/operations/operations.service.js';
import { until } from '../../support/until.js';
import { ServersApp } from './servers-app.js';

/** The outside, as the tasks see it; shared by all workers. */
const outside = { sent: [] as { serverId: string; text: string }[], refusal: null as Error | null, backups: 0 };

const console_: TaskConsole = {
  send: async (serverId, text) => {
    if (outside.refusal) throw outside.refusal;
    outside.sent.push({ serverId, text });
  },
};

let app: ServersApp;
let workers: INestApplicationContext[];
let caller: Principal;
let serverId: string;
let schedules: SchedulesService;

beforeAll(async () => {
  app = await ServersApp.start();
  const backups: TaskBackups = {
    startScheduled: (tx, resourceId) => {
      outside.backups += 1;
      const { accountId } = caller;
      return app.api.get(OperationsService).noop(tx, { accountId, type: 'test.backup', resourceId });
    },
  };
  workers = await Promise.all([app.startWorker(), app.startWorker()]);
  for (const worker of workers) Object.assign(worker.get(ScheduleTaskWorker), { console: console_, backups });
  schedules = app.api.get(SchedulesService);
  caller = await app.makeCaller('scheduler');
  serverId = await app.makeServer(caller);
});
afterAll(() => app?.close());

beforeEach(() => Object.assign(outside, { sent: [], refusal: null, backups: 0 }));

async function make(wanted: CreateScheduleDto = {}, tasks: CreateTaskDto[] = [], server = serverId): Promise<string> {
  const { id } = await schedules.create(caller, server, wanted);
  for (const task of tasks) await schedules.addTask(caller, server, id, task);
  return id;
}

function command(text: string, more: Partial<CreateTaskDto> = {}): CreateTaskDto {
  return { action: 'command', payload: text, ...more };
}

/** Makes a schedule due at this moment, as if its time had come. */
async function dueAt(id: string, slot: Date): Promise<void> {
  await app.database.query('UPDATE schedules SET next_run_at = ? WHERE id = ?', [slot, id]);
}

async function history(id: string, server = serverId): Promise<RunView[]> {
  const page = await schedules.history(caller, server, id, { limit: 100 });
  return page.items;
}

async function ended(id: string, server = serverId): Promise<RunView> {
  return until(`end of a run`, async () => {
    const [run] = await history(id, server);
    return run?.finishedAt ? run : null;
  });
}

async function events(server: string, event: string): Promise<Record<string, unknown>[]> {
  const rows = await app.database.query('SELECT * FROM activity_events WHERE resource_id = ? AND event = ?', [
    server,
    event,
  ]);
  return rows;
}

test('a slot that two workers see is run by one of them', async () => {
  const slot = new Date(Date.now() - 500);
  const ids = await Promise.all(
    Array.from({ length: 12 }, (_, number) =>
      make({ minute: '0', hour: '0', isActive: true }, [command(`slot ${number}`)]),
    ),
  );
  await Promise.all(ids.map((id) => dueAt(id, slot)));
  const clocks = workers.map((worker) => worker.get(ScheduleClockWorker));
  await Promise.all(Array.from({ length: 6 }, (_, turn) => clocks[turn % 2]!.tick()));
  for (const id of ids) {
    expect(await ended(id)).toMatchObject({ status: 'DONE', slot, tasks: [{ status: 'DONE', error: null }] });
    expect(await history(id)).toHaveLength(1);
    const { nextRunAt, lastRunAt } = await schedules.get(caller, serverId, id);
    expect(nextRunAt!.getTime()).toBeGreaterThan(Date.now());
    expect(lastRunAt!.getTime()).toBeGreaterThanOrEqual(slot.getTime());
  }
  expect(outside.sent.map(({ text }) => text).sort()).toEqual(ids.map((_, number) => `slot ${number}`).sort());
});

test('a slot that has been run is not run again when the schedule comes back to it', async () => {
  const id = await make({ hour: '0', minute: '0' }, [command('once')]);
  const slot = new Date(Date.now() - 2000);
  await dueAt(id, slot);
  await ended(id);
  await dueAt(id, slot);
  await until('next slot', async () => (await schedules.get(caller, serverId, id)).nextRunAt!.getTime() > Date.now());
  expect(await history(id)).toHaveLength(1);
  expect(outside.sent).toHaveLength(1);
});

test('slots missed while no worker was there are skipped, and one entry says so', async () => {
  const id = await make({ minute: '*' }, [command('late')]);
  const slot = new Date(Math.floor(Date.now() / 60_000) * 60_000 - 2 * 3600_000);
  await dueAt(id, slot);
  const runs = await until('the next slot', async () => {
    const { nextRunAt } = await schedules.get(caller, serverId, id);
    return nextRunAt!.getTime() > Date.now() ? history(id) : null;
  });
  const missed = runs.filter(({ reason }) => reason === 'missed');
  expect(missed).toMatchObject([{ status: 'SKIPPED', slot, tasks: [], operationId: null }]);
  // What fell due within the grace is run all the same.
  const rest = runs.filter(({ reason }) => reason !== 'missed');
  for (const run of rest) expect(Date.now() - run.slot!.getTime()).toBeLessThan(70_000);
  await schedules.delete(caller, serverId, id);
});

test('a slot that had to wait for its turn is run late, and only once', async () => {
  const clocks = workers.map((worker) => worker.get(ScheduleClockWorker));
  for (const clock of clocks) Object.assign(clock, { watchingSince: Date.now() - 3600_000 });
  const id = await make({ minute: '*' }, [command('at last')]);
  const slot = new Date(Math.floor(Date.now() / 60_000) * 60_000 - 600_000);
  await dueAt(id, slot);
  const runs = await until('the end of what is due', async () => {
    const { nextRunAt } = await schedules.get(caller, serverId, id);
    const all = await history(id);
    return nextRunAt!.getTime() > Date.now() && all.every(({ finishedAt }) => finishedAt) ? all : null;
  });
  expect(runs.at(-1)).toMatchObject({ slot, status: 'DONE' });
  // Of the nine in between those within the grace at most have their turn as well.
  expect(runs.length).toBeLessThanOrEqual(3);
  await schedules.delete(caller, serverId, id);
});

test('an account with very many schedules keeps nobody waiting, and gets them run in the end', async () => {
  const clocks = workers.map((worker) => worker.get(ScheduleClockWorker));
  for (const clock of clocks) Object.assign(clock, { starts: new StartBudget(2) });
  const neighbour = await app.makeCaller('neighbour');
  const theirs = await app.makeServer(neighbour);
  const { id: waited } = await schedules.create(neighbour, theirs, { hour: '0', minute: '0' });
  const many = await Promise.all(Array.from({ length: 8 }, () => make({ hour: '0', minute: '0' })));
  const slot = new Date(Date.now() - 3000);
  await Promise.all(many.map((id) => dueAt(id, slot)));
  await dueAt(waited, new Date(Date.now() - 1000));
  await until('run of the neighbour', async () => {
    const { items } = await schedules.history(neighbour, theirs, waited, { limit: 1 });
    return items[0]?.finishedAt;
  });
  await Promise.all(clocks.map((clock) => clock.tick()));
  const started = (await Promise.all(many.map((id) => history(id)))).filter((runs) => runs.length > 0);
  // Each worker has a budget of its own.
  expect(started.length).toBeGreaterThan(0);
  expect(started.length).toBeLessThanOrEqual(4);
  for (const clock of clocks) Object.assign(clock, { starts: new StartBudget(100) });
  for (const id of many) expect(await ended(id)).toMatchObject({ status: 'DONE', slot });
});

test('a slot that falls into a run is skipped, and so is a run by hand refused', async () => {
  const id = await make({ minute: '0', hour: '0' }, [command('first'), command('second', { timeOffset: 900 })]);
  const { operationId } = await schedules.execute(caller, serverId, id);
  const sent = () => outside.sent.map(({ text }) => text).filter((text) => text === 'first' || text === 'second');
  await until('first task', () => sent().length === 1);
  await expect(schedules.execute(caller, serverId, id)).rejects.toMatchObject({
    code: 'busy',
    extra: { members: { operationId } },
  });
  await dueAt(id, new Date(Date.now() - 100));
  const skipped = await until('overlap', async () => (await history(id)).find(({ status }) => status === 'SKIPPED'));
  expect(skipped).toMatchObject({ reason: 'overlap', tasks: [] });
  // Deleting the schedule ends the run that waits for its second task.
  await schedules.delete(caller, serverId, id);
  await until('end of the run', async () => {
    const [row] = await app.database.query<{ status: string }[]>('SELECT status FROM operations WHERE id = ?', [
      operationId,
    ]);
    return row?.status === 'CANCELLED';
  });
  expect(sent()).toEqual(['first']);
});

test('a service that does not run is left alone by schedules that want it online', async () => {
  const server = await app.makeServer(caller);
  await app.database.query("UPDATE servers SET status = 'STOPPED' WHERE id = ?", [server]);
  const id = await make({ minute: '0', hour: '0', onlyWhenOnline: true }, [command('hello')], server);
  const slot = new Date(Date.now() - 100);
  await dueAt(id, slot);
  expect(await ended(id, server)).toMatchObject({ status: 'SKIPPED', reason: 'offline', slot });
  expect((await schedules.get(caller, server, id)).lastRunAt).toBeNull();
  await schedules.execute(caller, server, id);
  expect((await history(id, server))[0]).toMatchObject({ status: 'SKIPPED', reason: 'offline', slot: null });

  await app.database.query("UPDATE servers SET status = 'REINSTALLING' WHERE id = ?", [server]);
  await dueAt(id, new Date(Date.now() - 100));
  await until('skip', async () => (await history(id, server))[0]?.reason === 'not_ready');
  await expect(schedules.execute(caller, server, id)).rejects.toMatchObject({ code: 'state_conflict' });
  expect(outside.sent).toEqual([]);
});

test('an account that is suspended gets nothing run', async () => {
  const other = await app.makeCaller('suspended');
  const server = await app.makeServer(other);
  const { id } = await schedules.create(other, server, { hour: '0', minute: '0' });
  await app.database.query("UPDATE accounts SET status = 'suspended' WHERE id = ?", [other.accountId]);
  await dueAt(id, new Date(Date.now() - 100));
  const [run] = await until('skip', async () => {
    const { items } = await schedules.history(other, server, id, { limit: 10 });
    return items.length > 0 && items;
  });
  expect(run).toMatchObject({ status: 'SKIPPED', reason: 'suspended' });
});

test('an inactive schedule has no next run, and is run by hand all the same', async () => {
  const id = await make({ isActive: false }, [command('by hand')]);
  expect(await schedules.get(caller, serverId, id)).toMatchObject({ isActive: false, nextRunAt: null });
  await schedules.execute(caller, serverId, id);
  expect(await ended(id)).toMatchObject({ status: 'DONE', slot: null });
  expect((await schedules.get(caller, serverId, id)).nextRunAt).toBeNull();
  const changed = await schedules.change(caller, serverId, id, { isActive: true });
  expect(changed.nextRunAt!.getTime()).toBeGreaterThan(Date.now());
  expect((await schedules.change(caller, serverId, id, { isActive: false })).nextRunAt).toBeNull();
});

test('tasks are done one after the other, each when the one before it has ended', async () => {
  const server = await app.makeServer(caller);
  const tasks: CreateTaskDto[] = [
    command('before'),
    { action: 'power', payload: 'stop' },
    { action: 'power', payload: 'start' },
    { action: 'backup' },
    command('after', { timeOffset: 2 }),
  ];
  const id = await make({ isActive: false }, tasks, server);
  await schedules.execute(caller, server, id);
  const run = await ended(id, server);
  expect(run.tasks.map(({ status, error }) => [status, error])).toEqual(tasks.map(() => ['DONE', null]));
  expect(run).toMatchObject({ status: 'DONE', reason: null });
  for (const [index, task] of run.tasks.entries()) {
    if (index > 0)
      expect(task.startedAt!.getTime()).toBeGreaterThanOrEqual(run.tasks[index - 1]!.finishedAt!.getTime());
  }
  expect(run.tasks[4]!.startedAt!.getTime() - run.tasks[3]!.finishedAt!.getTime()).toBeGreaterThanOrEqual(1950);
  expect(outside).toMatchObject({ sent: [{ serverId: server, text: 'before' }, { text: 'after' }], backups: 1 });
  expect(await events(server, 'server:power.stop')).toMatchObject([{ actor_type: 'system', actor_id: null }]);
  expect(await events(server, 'server:schedule.execute')).toMatchObject([{ actor_type: 'key' }]);
});

test('a failed task ends the run unless it may go on', async () => {
  outside.refusal = conflict('refused', 'The console said no.');
  const broken = await make({ isActive: false }, [command('a'), { action: 'backup' }]);
  await schedules.execute(caller, serverId, broken);
  expect(await ended(broken)).toMatchObject({
    status: 'FAILED',
    reason: 'refused',
    tasks: [
      { status: 'FAILED', error: { code: 'refused', detail: 'The console said no.' } },
      { status: 'SKIPPED', error: null },
    ],
  });
  expect(outside.backups).toBe(0);
  expect(await events(serverId, 'server:schedule.fail')).toHaveLength(1);

  const tolerant = await make({ isActive: false }, [command('a', { continueOnFailure: true }), { action: 'backup' }]);
  await schedules.execute(caller, serverId, tolerant);
  expect(await ended(tolerant)).toMatchObject({ status: 'DONE', tasks: [{ status: 'FAILED' }, { status: 'DONE' }] });
  expect(outside.backups).toBe(1);
});

test('a command that was on its way when its worker died is not sent twice', async () => {
  const id = await make({ isActive: false }, [command('a', { timeOffset: 3 })]);
  const { runId } = await schedules.execute(caller, serverId, id);
  await app.database.query("UPDATE schedule_run_tasks SET status = 'RUNNING' WHERE run_id = ?", [runId]);
  expect(await ended(id)).toMatchObject({ status: 'FAILED', reason: 'interrupted' });
  expect(outside.sent).toEqual([]);
});

test('a busy service is waited for', async () => {
  const server = await app.makeServer(caller);
  const id = await make({ isActive: false }, [{ action: 'power', payload: 'restart' }], server);
  const operations = app.api.get(OperationsService);
  const { accountId } = caller;
  // Of a type that no worker knows, so that it lasts as long as this test wants.
  const other = await app.api
    .get(Database)
    .transaction((tx) =>
      operations.start(tx, { accountId, type: 'test.unknown', resourceId: server, delayMs: 60_000 }),
    );
  await schedules.execute(caller, server, id);
  await until('first try', async () => (await history(id, server))[0]?.tasks[0]?.status === 'WAITING');
  await app.api.get(Database).transaction((tx) => operations.cancel(tx, other));
  expect(await ended(id, server)).toMatchObject({ status: 'DONE', tasks: [{ status: 'DONE' }] });
});

test('removing a task closes the gap; the eleventh is refused', async () => {
  const id = await make({ isActive: false });
  const made = [];
  for (let number = 1; number <= 10; number++)
    made.push(await schedules.addTask(caller, serverId, id, command(`${number}`)));
  await expect(schedules.addTask(caller, serverId, id, command('11'))).rejects.toMatchObject({
    code: 'too_many_tasks',
  });
  await schedules.removeTask(caller, serverId, id, made[3]!.id);
  await schedules.addTask(caller, serverId, id, command('11'));
  const { tasks } = await schedules.get(caller, serverId, id);
  expect(tasks.map(({ sequence, payload }) => [sequence, payload])).toEqual(
    ['1', '2', '3', '5', '6', '7', '8', '9', '10', '11'].map((payload, index) => [index + 1, payload]),
  );
  await expect(schedules.removeTask(caller, serverId, id, newId('tsk'))).rejects.toMatchObject({ code: 'not_found' });
});

test.each<[CreateTaskDto, string]>([
  [{ action: 'backup', payload: 'x' }, 'not_allowed'],
  [{ action: 'power' }, 'required'],
  [{ action: 'power', payload: 'explode' }, 'enum'],
  [{ action: 'power', payload: 'START' }, 'enum'],
  [{ action: 'command' }, 'required'],
  [{ action: 'command', payload: null }, 'required'],
  [{ action: 'command', payload: '  ' }, 'min_length'],
])('task %j is refused before anything is looked up', async (task, code) => {
  await expect(schedules.addTask(caller, newId('srv'), newId('sch'), task)).rejects.toMatchObject({
    kind: 'bad_request',
    extra: { errors: [{ code }] },
  });
});

test('a date that never comes is refused, at creation and after a change', async () => {
  const never = { kind: 'bad_request', extra: { errors: [{ code: 'never' }] } };
  await expect(schedules.create(caller, serverId, { day_of_month: '30', month: '2' })).rejects.toMatchObject(never);
  const id = await make({ day_of_month: '30' });
  await expect(schedules.change(caller, serverId, id, { month: '2' })).rejects.toMatchObject(never);
  expect((await schedules.get(caller, serverId, id)).month).toBe('*');
});

test('what changes the times moves the next run, what does not leaves it', async () => {
  const id = await make({ minute: '30', hour: '4', timezone: 'Asia/Kolkata' });
  const made = await schedules.get(caller, serverId, id);
  expect(made.nextRunAt!.toISOString()).toMatch(/T23:00:00.000Z$/);
  expect((await schedules.change(caller, serverId, id, { name: 'other' })).nextRunAt).toEqual(made.nextRunAt);
  const moved = await schedules.change(caller, serverId, id, { timezone: 'UTC' });
  expect(moved.nextRunAt!.toISOString()).toMatch(/T04:30:00.000Z$/);
  expect(moved).toMatchObject({
    name: 'other',
    minute: '30',
    hour: '4',
    day_of_month: '*',
    month: '*',
    day_of_week: '*',
  });
});
