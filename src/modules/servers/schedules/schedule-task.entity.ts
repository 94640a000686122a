import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { AsciiColumn, IdColumn, IdPrimary, TimeColumn } from '../../../platform/database/columns.js';

export const TASK_ACTIONS = ['backup', 'power', 'command'] as const;
export type TaskAction = (typeof TASK_ACTIONS)[number];

export const MAX_TASKS = 10;
export const MAX_COMMAND = 2000;
/** What a terminal takes as one line. */
export const MAX_COMMAND_BYTES = 4000;

/** One of the things a schedule does, in the order of their sequence. */
@Entity('schedule_tasks')
@Index('uq_schedule_tasks_sequence', ['scheduleId', 'sequence'], { unique: true })
export class ScheduleTask {
  @IdPrimary()
  id!: string;

  @ForeignKey('schedules', { name: 'fk_schedule_tasks_schedule', onDelete: 'CASCADE' })
  @IdColumn('schedule_id')
  scheduleId!: string;

  @Column({ name: 'sequence', type: 'int' })
  sequence!: number;

  @AsciiColumn('action', 16)
  action!: TaskAction;

  /** Power signal or console command; null for a backup. */
  @Column({ name: 'payload', type: 'varchar', length: MAX_COMMAND, nullable: true })
  payload!: string | null;

  /** Seconds after the task before it, or after the begin of the run. */
  @Column({ name: 'time_offset', type: 'int' })
  timeOffset!: number;

  @Column({ name: 'continue_on_failure', type: 'boolean' })
  continueOnFailure!: boolean;

  @TimeColumn('created_at')
  createdAt!: Date;
}
