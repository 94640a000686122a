import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database, type Tx } from '../../../platform/database/database.js';
import { conflict, notFound, stateConflict } from '../../../platform/errors/domain-error.js';
import { actorOf } from '../../../platform/events/event-recorder.js';
import { decodeCursor, Page, type PageQuery } from '../../../platform/http/page.js';
import { newId } from '../../../platform/ids/id.js';
import { OperationsService } from '../../../platform/operations/operations.service.js';
import type { Server } from '../server.entity.js';
import { ServerRepository } from '../server.repository.js';
import type {
  AcceptedRun,
  ChangeScheduleDto,
  CreateScheduleDto,
  CreateTaskDto,
  RunView,
  ScheduleView,
  TaskView,
} from './dto/schedule.dto.js';
import { checkPayload, cronFieldsOf, timesOf } from './schedule-rules.js';
import { ScheduleRunsService } from './schedule-runs.service.js';
import { MAX_TASKS, ScheduleTask } from './schedule-task.entity.js';
import { Schedule } from './schedule.entity.js';
import { ScheduleRepository } from './schedule.repository.js';
import { runView, scheduleView, taskView } from './schedule.views.js';

const MAX_SCHEDULES = 100;
const EVERY_MINUTE = { minute: '*', hour: '*', day_of_month: '*', month: '*', day_of_week: '*' };

/** Making, changing, showing and starting the schedules of a service. */
@Injectable()
export class SchedulesService {
  constructor(
    private readonly database: Database,
    private readonly servers: ServerRepository,
    private readonly schedules: ScheduleRepository,
    private readonly runs: ScheduleRunsService,
    private readonly operations: OperationsService,
  ) {}

  async list(caller: Principal, serverId: string, { limit, cursor }: PageQuery): Promise<Page<ScheduleView>> {
    await this.servers.findOwned(caller.accountId, serverId);
    const rows = await this.schedules.list(serverId, limit + 1, before(cursor));
    const tasks = await this.schedules.tasks(
      this.database,
      rows.map(({ id }) => id),
    );
    return Page.of(rows, limit, ({ id }) => [id]).map((schedule) =>
      scheduleView(
        schedule,
        tasks.filter(({ scheduleId }) => scheduleId === schedule.id),
      ),
    );
  }

  async get(caller: Principal, serverId: string, id: string): Promise<ScheduleView> {
    await this.servers.findOwned(caller.accountId, serverId);
    const schedule = await this.schedules.find(serverId, id);
    return scheduleView(schedule, await this.schedules.tasks(this.database, [id]));
  }

  async create(caller: Principal, serverId: string, wanted: CreateScheduleDto): Promise<ScheduleView> {
    const { minute, hour, day_of_month, month, day_of_week } = { ...EVERY_MINUTE, ...definedOnly(wanted) };
    const { name = 'Schedule', timezone = 'UTC', isActive = true, onlyWhenOnline = false } = wanted;
    const times = timesOf({ minute, hour, day_of_month, month, day_of_week }, timezone);
    return this.database.transaction(async (tx) => {
      const server = await this.servers.lockOwned(tx, caller.accountId, serverId);
      if ((await tx.manager.countBy(Schedule, { serverId })) >= MAX_SCHEDULES) {
        throw conflict('too_many_schedules', `A service has at most ${MAX_SCHEDULES} schedules.`);
      }
      const now = new Date();
      const schedule = tx.manager.create(Schedule, {
        id: newId('sch'),
        serverId,
        name,
        minute,
        hour,
        dayOfMonth: day_of_month,
        month,
        dayOfWeek: day_of_week,
        timezone,
        isActive,
        onlyWhenOnline,
        lastRunAt: null,
        nextRunAt: isActive ? times.next(now) : null,
        createdAt: now,
        updatedAt: now,
      });
      await tx.manager.insert(Schedule, schedule);
      await this.runs.record(tx, server, 'server:schedule.create', schedule, actorOf(caller));
      return scheduleView(schedule, []);
    });
  }

  async change(caller: Principal, serverId: string, id: string, wanted: ChangeScheduleDto): Promise<ScheduleView> {
    return this.changing(caller, serverId, id, async (tx, server, schedule) => {
      const { day_of_month: dayOfMonth, day_of_week: dayOfWeek, ...rest } = wanted;
      const before = { ...schedule };
      Object.assign(schedule, definedOnly({ ...rest, dayOfMonth, dayOfWeek }), { updatedAt: new Date() });
      const retimed = TIMING.some((field) => before[field] !== schedule[field]);
      if (retimed) {
        const times = timesOf(cronFieldsOf(schedule), schedule.timezone);
        schedule.nextRunAt = schedule.isActive ? times.next(new Date()) : null;
      }
      const { id: _id, serverId: _serverId, createdAt: _createdAt, ...values } = schedule;
      await tx.manager.update(Schedule, { id }, values);
      await this.runs.record(tx, server, 'server:schedule.update', schedule, actorOf(caller), {
        changed: Object.keys(definedOnly(wanted)),
      });
      return scheduleView(schedule, await this.schedules.tasks(tx, [id]));
    });
  }

  /** A run that is under way ends with it. */
  async delete(caller: Principal, serverId: string, id: string): Promise<void> {
    await this.changing(caller, serverId, id, async (tx, server, schedule) => {
      const running = await this.operations.active(tx, id);
      if (running) await this.operations.cancel(tx, running);
      await tx.manager.delete(Schedule, { id });
      await this.runs.record(tx, server, 'server:schedule.delete', schedule, actorOf(caller));
    });
  }

  /** Runs it now, also when it is inactive. */
  async execute(caller: Principal, serverId: string, id: string): Promise<AcceptedRun> {
    return this.changing(caller, serverId, id, async (tx, server, schedule) => {
      await this.operations.mustBeFree(tx, { id, status: server.status });
      const obstacle = this.runs.obstacle(schedule, server);
      if (obstacle === 'not_ready') throw stateConflict('A schedule', server.status);
      if (obstacle !== null) {
        const { id: runId } = await this.runs.skip(tx, schedule, null, obstacle);
        const { accountId } = server;
        const { id: operationId } = await this.operations.noop(tx, { accountId, type: 'schedule.run', resourceId: id });
        return { operationId, runId };
      }
      const run = await this.runs.begin(tx, schedule, server, null, actorOf(caller));
      return { operationId: run.operationId!, runId: run.id };
    });
  }

  async history(caller: Principal, serverId: string, id: string, { limit, cursor }: PageQuery): Promise<Page<RunView>> {
    await this.servers.findOwned(caller.accountId, serverId);
    await this.schedules.find(serverId, id);
    const rows = await this.schedules.runs(id, limit + 1, before(cursor));
    const tasks = await this.schedules.runTasks(rows.map((run) => run.id));
    return Page.of(rows, limit, (run) => [run.id]).map((run) =>
      runView(
        run,
        tasks.filter(({ runId }) => runId === run.id),
      ),
    );
  }

  async addTask(caller: Principal, serverId: string, id: string, wanted: CreateTaskDto): Promise<TaskView> {
    const { action, payload = null, timeOffset = 0, continueOnFailure = false } = wanted;
    checkPayload(action, payload);
    return this.changing(caller, serverId, id, async (tx, server, schedule) => {
      const tasks = await this.schedules.tasks(tx, [id]);
      if (tasks.length >= MAX_TASKS) {
        throw conflict('too_many_tasks', `A schedule has at most ${MAX_TASKS} tasks.`);
      }
      const task = tx.manager.create(ScheduleTask, {
        id: newId('tsk'),
        scheduleId: id,
        sequence: (tasks.at(-1)?.sequence ?? 0) + 1,
        action,
        payload,
        timeOffset,
        continueOnFailure,
        createdAt: new Date(),
      });
      await tx.manager.insert(ScheduleTask, task);
      await this.runs.record(tx, server, 'server:task.create', schedule, actorOf(caller), { taskId: task.id, action });
      return taskView(task);
    });
  }

  async removeTask(caller: Principal, serverId: string, id: string, taskId: string): Promise<void> {
    await this.changing(caller, serverId, id, async (tx, server, schedule) => {
      const task = await tx.manager.findOneBy(ScheduleTask, { id: taskId, scheduleId: id });
      if (!task) throw notFound();
      await tx.manager.delete(ScheduleTask, { id: taskId });
      // One by one from below: the unique places allow no other order.
      for (const later of await this.schedules.tasks(tx, [id])) {
        if (later.sequence < task.sequence) continue;
        await tx.manager.update(ScheduleTask, { id: later.id }, { sequence: later.sequence - 1 });
      }
      const { action } = task;
      await this.runs.record(tx, server, 'server:task.delete', schedule, actorOf(caller), { taskId, action });
    });
  }

  private changing<T>(
    caller: Principal,
    serverId: string,
    id: string,
    work: (tx: Tx, server: Server, schedule: Schedule) => Promise<T>,
  ): Promise<T> {
    return this.database.transaction(async (tx) => {
      const server = await this.servers.lockOwned(tx, caller.accountId, serverId);
      return work(tx, server, await this.schedules.lock(tx, serverId, id));
    });
  }
}

/** What moves the next run. */
const TIMING = ['minute', 'hour', 'dayOfMonth', 'month', 'dayOfWeek', 'timezone', 'isActive'] as const;

function before(cursor: string | undefined): string | undefined {
  return cursor === undefined ? undefined : (decodeCursor(cursor, ['id'])[0] as string);
}

function definedOnly<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>;
}
