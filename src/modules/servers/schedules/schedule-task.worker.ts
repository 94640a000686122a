import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '../../../platform/database/database.js';
import { DomainError } from '../../../platform/errors/domain-error.js';
import type { Operation } from '../../../platform/operations/operation.entity.js';
import { OperationFailed, RunAgain } from '../../../platform/operations/operation-handler.js';
import { failureOf, isFinished, OperationsService } from '../../../platform/operations/operations.service.js';
import { truncate } from '../../../platform/text/truncate.js';
import { PowerService } from '../power/power.service.js';
import type { PowerSignal } from '../server-status.js';
import { ServerRepository } from '../server.repository.js';
import { ScheduleRunTask } from './schedule-run.entity.js';
import { TaskBackups, TaskConsole } from './task-ports.js';

/** A task whose service is busy, or whose other side is away, is tried for so long after it was due. */
const PATIENCE_MS = 60_000;
const BUSY_RETRY_MS = 2000;
const PASSING = new Set(['busy', 'state_conflict']);
/** How long a worker waits for a task's operation before it does something else meanwhile ... */
const WATCH_MS = 2000;
const LOOK_AGAIN_MS = 500;
/** ... and what it does for one that takes its time, such as a backup that has yet to begin. */
const LONG_MS = 10_000;
const GLANCE_MS = 50;
const LOOK_LATER_MS = 3000;

/**
 * Does one task of a run, once: what makes a power signal stands in the transaction that notes it, and what was on its way
 * to a console when a worker died is not sent again, for nobody knows whether it arrived.
 */
@Injectable()
export class ScheduleTaskWorker {
  constructor(
    private readonly database: Database,
    private readonly servers: ServerRepository,
    private readonly operations: OperationsService,
    private readonly power: PowerService,
    private readonly console: TaskConsole,
    private readonly backups: TaskBackups,
  ) {}

  /** Returns when the task is over and the next one may follow; throws what ends the run, or asks to be called again. */
  async perform(serverId: string, scheduleId: string, task: ScheduleRunTask): Promise<void> {
    if (task.status === 'FAILED') return this.afterFailure(task);
    if (task.status !== 'WAITING' && task.status !== 'RUNNING') return;
    try {
      if (task.operationId === null) await this.begin(serverId, scheduleId, task);
      if (task.operationId !== null) await this.follow(task.operationId, task.startedAt);
    } catch (error) {
      if (error instanceof RunAgain) throw error;
      await this.fail(task, error);
      return this.afterFailure(task);
    }
    await this.write(task, { status: 'DONE', finishedAt: new Date() });
  }

  private async begin(serverId: string, scheduleId: string, task: ScheduleRunTask): Promise<void> {
    try {
      switch (task.action) {
        case 'power':
          return await this.startOperation(task, (tx) => {
            const cause = { scheduleId, runId: task.runId };
            return this.power.sendBySystem(tx, serverId, task.payload as PowerSignal, cause);
          });
        case 'command':
          return await this.sendCommand(serverId, task);
        case 'backup':
          return await this.startOperation(task, (tx) => this.backups.startScheduled(tx, serverId));
      }
    } catch (error) {
      // Nobody knows whether a command that was on its way has arrived.
      const sent = task.action === 'command' && task.status === 'RUNNING';
      if (sent || !isPassing(error) || Date.now() > task.dueAt!.getTime() + PATIENCE_MS) throw error;
      await this.write(task, { status: 'WAITING', startedAt: null });
      throw new RunAgain(BUSY_RETRY_MS);
    }
  }

  /** What it starts and the note that it was started stand in one transaction, so that it is started once. */
  private async startOperation(task: ScheduleRunTask, start: (tx: Tx) => Promise<Operation>): Promise<void> {
    const { runId, sequence } = task;
    await this.database.transaction(async (tx) => {
      const operation = await start(tx);
      const begun = { status: 'RUNNING', startedAt: new Date(), operationId: operation.id } as const;
      const noted = await tx.manager.update(ScheduleRunTask, { runId, sequence, status: 'WAITING' }, begun);
      // Another worker, that this one was given up for, has done it; look again at what stands there now.
      if (noted.affected !== 1) throw new RunAgain(LOOK_AGAIN_MS);
      Object.assign(task, begun);
    });
  }

  private async sendCommand(serverId: string, task: ScheduleRunTask): Promise<void> {
    if (task.status === 'RUNNING') {
      throw new OperationFailed('interrupted', 'The platform was interrupted while it sent the command.');
    }
    const server = await this.servers.find(serverId);
    if (server?.status !== 'RUNNING') throw new OperationFailed('offline', 'The service does not run.');
    await this.write(task, { status: 'RUNNING', startedAt: new Date() });
    await this.console.send(serverId, task.payload ?? '');
  }

  private async follow(operationId: string, since: Date | null): Promise<void> {
    const isLong = since !== null && Date.now() - since.getTime() > LONG_MS;
    const operation = await this.operations.settled(operationId, isLong ? GLANCE_MS : WATCH_MS);
    if (!isFinished(operation.status)) throw new RunAgain(isLong ? LOOK_LATER_MS : LOOK_AGAIN_MS);
    const failure = failureOf(operation);
    if (failure) throw new OperationFailed(failure.code, failure.detail);
  }

  private async fail(task: ScheduleRunTask, error: unknown): Promise<void> {
    const known = error instanceof OperationFailed || error instanceof DomainError;
    // What nobody foresaw is for the operations' runner: it logs, tries again and gives up in the end.
    if (!known && !isAway(error)) throw error;
    const errorCode = known ? error.code : 'unavailable';
    const errorDetail = known ? error.detail : 'A part of the platform was away.';
    await this.write(task, {
      status: 'FAILED',
      errorCode,
      errorDetail: truncate(errorDetail, 500),
      finishedAt: new Date(),
    });
  }

  private afterFailure({ continueOnFailure, errorCode, errorDetail }: ScheduleRunTask): void {
    if (!continueOnFailure) throw new OperationFailed(errorCode ?? 'failed', errorDetail ?? '');
  }

  private async write(task: ScheduleRunTask, values: Partial<ScheduleRunTask>): Promise<void> {
    const { runId, sequence } = task;
    await this.database.manager.update(ScheduleRunTask, { runId, sequence }, values);
    Object.assign(task, values);
  }
}

/** Whether waiting may help: the service has something else to do, or a part of the platform is away. */
function isPassing(error: unknown): boolean {
  if (error instanceof DomainError) return PASSING.has(error.code) || error.kind === 'unavailable';
  return isAway(error);
}

function isAway(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'unavailable';
}
