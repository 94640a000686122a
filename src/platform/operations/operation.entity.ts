import { Column, Entity, Index } from 'typeorm';
import { AsciiColumn, IdColumn, IdPrimary, TimeColumn } from '../database/columns.js';

export const OPERATION_STATUSES = ['QUEUED', 'RUNNING', 'DONE', 'FAILED', 'CANCELLED'] as const;
export type OperationStatus = (typeof OPERATION_STATUSES)[number];

/**
 * One change to the outside, from the moment it was accepted. The row is the outbox: it is written in the transaction of
 * the change it belongs to, and the queue only ever carries its id.
 */
@Entity('operations')
@Index('ix_operations_due', ['status', 'dueAt'])
@Index('ix_operations_resource', ['resourceId', 'id'])
export class Operation {
  @IdPrimary()
  id!: string;

  @IdColumn('account_id')
  accountId!: string;

  @AsciiColumn('type', 64)
  type!: string;

  @IdColumn('resource_id')
  resourceId!: string;

  @AsciiColumn('status', 16)
  status!: OperationStatus;

  /** What the handler needs beyond the rows; never a secret. */
  @Column({ name: 'payload', type: 'json' })
  payload!: object;

  /** Set while the operation is unfinished; unique, so that one runs per resource. */
  @Index('uq_operations_active_key', { unique: true })
  @AsciiColumn('active_key', 64, { nullable: true })
  activeKey!: string | null;

  /** Step that runs or ran last. */
  @AsciiColumn('step', 64, { nullable: true })
  step!: string | null;

  @Column({ name: 'progress', type: 'int' })
  progress!: number;

  /** How often a worker took it up, waiting and take-overs included. */
  @Column({ name: 'attempts', type: 'int' })
  attempts!: number;

  /** How often a step of it failed in a way that trying again may mend. */
  @Column({ name: 'failures', type: 'int' })
  failures!: number;

  @Column({ name: 'cancel_requested', type: 'boolean' })
  cancelRequested!: boolean;

  /** A failed operation undoes its steps before it ends; a worker that takes it over goes on with that. */
  @Column({ name: 'undoing', type: 'boolean' })
  undoing!: boolean;

  /** When the sweeper may (again) put it on the queue. */
  @TimeColumn('due_at')
  dueAt!: Date;

  /** Process that runs it, and until when it may be considered alive. */
  @AsciiColumn('lease_owner', 64, { nullable: true })
  leaseOwner!: string | null;

  @TimeColumn('lease_until', { nullable: true })
  leaseUntil!: Date | null;

  @AsciiColumn('error_code', 64, { nullable: true })
  errorCode!: string | null;

  @Column({ name: 'error_detail', type: 'varchar', length: 500, nullable: true })
  errorDetail!: string | null;

  @TimeColumn('created_at')
  createdAt!: Date;

  @TimeColumn('started_at', { nullable: true })
  startedAt!: Date | null;

  @TimeColumn('finished_at', { nullable: true })
  finishedAt!: Date | null;
}
