import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AsciiColumn, IdColumn, IdPrimary, TimeColumn } from '../../../platform/database/columns.js';
import { MAX_COMMAND, type TaskAction } from './schedule-task.entity.js';

export const RUN_STATUSES = ['QUEUED', 'RUNNING', 'DONE', 'FAILED', 'SKIPPED', 'CANCELLED'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

export const TASK_RUN_STATUSES = ['WAITING', 'RUNNING', 'DONE', 'FAILED', 'SKIPPED'] as const;
export type TaskRunStatus = (typeof TASK_RUN_STATUSES)[number];

/** One run of a schedule. The row of a slot is the claim on it: whoever inserts it runs the slot, and nobody else can. */
@Entity('schedule_runs')
@Index('uq_schedule_runs_slot', ['scheduleId', 'slot'], { unique: true })
@Index('ix_schedule_runs_schedule', ['scheduleId', 'id'])
export class ScheduleRun {
  @IdPrimary()
  id!: string;

  @ForeignKey('schedules', { name: 'fk_schedule_runs_schedule', onDelete: 'CASCADE' })
  @IdColumn('schedule_id')
  scheduleId!: string;

  /** The moment the schedule was due; null for a run that was asked for by hand. */
  @TimeColumn('slot', { nullable: true })
  slot!: Date | null;

  @AsciiColumn('status', 16)
  status!: RunStatus;

  /** Why it was skipped, or the code of what it failed by. */
  @AsciiColumn('reason', 64, { nullable: true })
  reason!: string | null;

  @Index('uq_schedule_runs_operation', { unique: true })
  @IdColumn('operation_id', { nullable: true })
  operationId!: string | null;

  @TimeColumn('created_at')
  createdAt!: Date;

  @TimeColumn('started_at', { nullable: true })
  startedAt!: Date | null;

  @TimeColumn('finished_at', { nullable: true })
  finishedAt!: Date | null;
}

/** A task as it was when its run began, and what became of it. */
@Entity('schedule_run_tasks')
export class ScheduleRunTask {
  @ForeignKey('schedule_runs', { name: 'fk_schedule_run_tasks_run', onDelete: 'CASCADE' })
  @IdPrimary('run_id')
  runId!: string;

  @PrimaryColumn({ name: 'sequence', type: 'int' })
  sequence!: number;

  @IdColumn('task_id')
  taskId!: string;

  @AsciiColumn('action', 16)
  action!: TaskAction;

  @Column({ name: 'payload', type: 'varchar', length: MAX_COMMAND, nullable: true })
  payload!: string | null;

  @Column({ name: 'time_offset', type: 'int' })
  timeOffset!: number;

  @Column({ name: 'continue_on_failure', type: 'boolean' })
  continueOnFailure!: boolean;

  @AsciiColumn('status', 16)
  status!: TaskRunStatus;

  /** Known once the task before it has ended. */
  @TimeColumn('due_at', { nullable: true })
  dueAt!: Date | null;

  /** The operation that does it, where it is one. */
  @IdColumn('operation_id', { nullable: true })
  operationId!: string | null;

  @AsciiColumn('error_code', 64, { nullable: true })
  errorCode!: string | null;

  @Column({ name: 'error_detail', type: 'varchar', length: 500, nullable: true })
  errorDetail!: string | null;

  @TimeColumn('started_at', { nullable: true })
  startedAt!: Date | null;

  @TimeColumn('finished_at', { nullable: true })
  finishedAt!: Date | null;
}
