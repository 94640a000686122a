import { Injectable } from '@nestjs/common';
import { LessThan } from 'typeorm';
import type { Tx } from '../../../platform/database/database.js';
import { EventRecorder, SYSTEM, type NewEvent } from '../../../platform/events/event-recorder.js';
import { newId } from '../../../platform/ids/id.js';
import { OperationsService } from '../../../platform/operations/operations.service.js';
import type { Server } from '../server.entity.js';
import type { ServerStatus } from '../server-status.js';
import { ScheduleRun, ScheduleRunTask } from './schedule-run.entity.js';
import { ScheduleRepository } from './schedule.repository.js';
import { Schedule } from './schedule.entity.js';

export const RUN_OPERATION = 'schedule.run';

export interface RunPayload {
  runId: string;
}

export type SkipReason = 'missed' | 'overlap' | 'offline' | 'not_ready' | 'suspended';

/** How many runs of a schedule are remembered. */
const KEPT_RUNS = 300;

const READY: ServerStatus[] = ['STARTING', 'RUNNING', 'STOPPING', 'STOPPED', 'CRASHED'];

/** Begins runs of schedules, or writes down why one is skipped. All in the caller's transaction, the schedule locked. */
@Injectable()
export class ScheduleRunsService {
  constructor(
    private readonly schedules: ScheduleRepository,
    private readonly operations: OperationsService,
    private readonly events: EventRecorder,
  ) {}

  /** Why a schedule of this service cannot run as things are; null when it can. */
  obstacle(schedule: Schedule, server: Server): SkipReason | null {
    if (!READY.includes(server.status)) return 'not_ready';
    return schedule.onlyWhenOnline && server.status !== 'RUNNING' ? 'offline' : null;
  }

  /** Queues a run of the tasks as they stand now. */
  async begin(tx: Tx, schedule: Schedule, server: Server, slot: Date | null, by: Cause = SYSTEM): Promise<ScheduleRun> {
    const now = new Date();
    const runId = newId('run');
    const operation = await this.operations.start(tx, {
      accountId: server.accountId,
      type: RUN_OPERATION,
      resourceId: schedule.id,
      payload: { runId } satisfies RunPayload,
    });
    const fresh = { id: runId, scheduleId: schedule.id, slot, operationId: operation.id, createdAt: now };
    const run = tx.manager.create(ScheduleRun, {
      ...fresh,
      status: 'QUEUED',
      reason: null,
      startedAt: null,
      finishedAt: null,
    });
    await tx.manager.insert(ScheduleRun, run);
    for (const task of await this.schedules.tasks(tx, [schedule.id])) {
      const { id: taskId, sequence, action, payload, timeOffset, continueOnFailure } = task;
      const copy = { taskId, sequence, action, payload, timeOffset, continueOnFailure };
      await tx.manager.insert(ScheduleRunTask, { runId, ...copy, status: 'WAITING' });
    }
    await tx.manager.update(Schedule, { id: schedule.id }, { lastRunAt: now });
    await this.record(tx, server, 'server:schedule.execute', schedule, by, { runId });
    await this.prune(tx, schedule.id);
    return run;
  }

  async skip(tx: Tx, schedule: Schedule, slot: Date | null, reason: SkipReason): Promise<ScheduleRun> {
    const now = new Date();
    const run = tx.manager.create(ScheduleRun, {
      id: newId('run'),
      scheduleId: schedule.id,
      slot,
      status: 'SKIPPED',
      reason,
      operationId: null,
      createdAt: now,
      startedAt: null,
      finishedAt: now,
    });
    await tx.manager.insert(ScheduleRun, run);
    await this.prune(tx, schedule.id);
    return run;
  }

  /** Forgets what is older than the runs that are kept. */
  private async prune({ manager }: Tx, scheduleId: string): Promise<void> {
    const [oldest] = await manager.find(ScheduleRun, {
      select: { id: true },
      where: { scheduleId },
      order: { id: 'DESC' },
      skip: KEPT_RUNS,
      take: 1,
    });
    if (oldest) await manager.delete(ScheduleRun, { scheduleId, id: LessThan(oldest.id) });
  }

  async record(tx: Tx, server: Server, event: string, schedule: Schedule, by: Cause, more: object = {}): Promise<void> {
    await this.events.record(tx, {
      accountId: server.accountId,
      resourceId: server.id,
      event,
      properties: { scheduleId: schedule.id, name: schedule.name, ...more },
      ...by,
    });
  }
}

type Cause = Pick<NewEvent, 'actor' | 'ip'>;
