import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '../../../platform/database/database.js';
import { SYSTEM } from '../../../platform/events/event-recorder.js';
import { Operation } from '../../../platform/operations/operation.entity.js';
import {
  HandlesOperation,
  OperationFailed,
  OperationHandler,
  RunAgain,
  type OperationFailure,
  type OperationStep,
} from '../../../platform/operations/operation-handler.js';
import { ServerRepository } from '../server.repository.js';
import { ScheduleRun, ScheduleRunTask, type RunStatus } from './schedule-run.entity.js';
import { RUN_OPERATION, ScheduleRunsService, type RunPayload } from './schedule-runs.service.js';
import { ScheduleSlots } from './schedule-slots.js';
import { ScheduleTaskWorker } from './schedule-task.worker.js';
import { Schedule } from './schedule.entity.js';
import { ScheduleRepository } from './schedule.repository.js';

async function giveUp(): Promise<void> {
  throw new OperationFailed('cancelled', 'The schedule was deleted.');
}

/**
 * Walks the tasks of a run. When each is due, begun and done stands in its row, so that a worker that takes over goes on
 * where the one before it died. A schedule that is deleted takes them with it, and the run ends.
 */
@Injectable()
@HandlesOperation(RUN_OPERATION)
export class ScheduleRunWorker extends OperationHandler {
  constructor(
    private readonly database: Database,
    private readonly servers: ServerRepository,
    private readonly schedules: ScheduleRepository,
    private readonly runs: ScheduleRunsService,
    private readonly task: ScheduleTaskWorker,
    private readonly atOnce: ScheduleSlots,
  ) {
    super();
  }

  async steps(operation: Operation): Promise<OperationStep[]> {
    const { runId } = operation.payload as RunPayload;
    if (!(await this.database.manager.existsBy(ScheduleRun, { id: runId }))) return [{ name: 'gone', run: giveUp }];
    const tasks = await this.schedules.runTasks([runId]);
    return tasks.map(({ sequence }) => ({
      name: `task-${sequence}`,
      run: () => this.perform(operation.resourceId, runId, sequence),
    }));
  }

  override slots(): ScheduleSlots {
    return this.atOnce;
  }

  async onDone(tx: Tx, operation: Operation): Promise<void> {
    await this.end(tx, operation, 'DONE', null);
  }

  async onFailed(tx: Tx, operation: Operation, { code }: OperationFailure): Promise<void> {
    await this.end(tx, operation, 'FAILED', code);
    const schedule = await tx.manager.findOneBy(Schedule, { id: operation.resourceId });
    const server = schedule && (await this.servers.find(schedule.serverId));
    if (!server) return;
    const { runId } = operation.payload as RunPayload;
    await this.runs.record(tx, server, 'server:schedule.fail', schedule, SYSTEM, { runId, code });
  }

  override async onCancelled(tx: Tx, operation: Operation): Promise<void> {
    await this.end(tx, operation, 'CANCELLED', null);
  }

  private async perform(scheduleId: string, runId: string, sequence: number): Promise<void> {
    const { manager } = this.database;
    const schedule = await manager.findOneBy(Schedule, { id: scheduleId });
    const task = await manager.findOneBy(ScheduleRunTask, { runId, sequence });
    if (!schedule || !task) return;
    const now = new Date();
    await manager.update(ScheduleRun, { id: runId, status: 'QUEUED' }, { status: 'RUNNING', startedAt: now });
    if (task.dueAt === null) {
      task.dueAt = new Date(now.getTime() + task.timeOffset * 1000);
      await manager.update(ScheduleRunTask, { runId, sequence }, { dueAt: task.dueAt });
    }
    const wait = task.dueAt.getTime() - now.getTime();
    if (wait > 0) throw new RunAgain(wait);
    await this.task.perform(schedule.serverId, schedule.id, task);
  }

  private async end(tx: Tx, operation: Operation, status: RunStatus, reason: string | null): Promise<void> {
    const { runId } = operation.payload as RunPayload;
    const finishedAt = new Date();
    await tx.manager.update(ScheduleRunTask, { runId, status: 'WAITING' }, { status: 'SKIPPED', finishedAt });
    const broken = { status: 'FAILED', errorCode: reason ?? 'cancelled', finishedAt } as const;
    await tx.manager.update(ScheduleRunTask, { runId, status: 'RUNNING' }, broken);
    await tx.manager.update(ScheduleRun, { id: runId }, { status, reason, finishedAt });
  }
}
