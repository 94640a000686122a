import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { AsciiColumn, IdColumn, IdPrimary, TimeColumn } from '../../../platform/database/columns.js';

export const EXEC_STATUSES = ['QUEUED', 'RUNNING', 'DONE', 'FAILED', 'TIMEOUT'] as const;
export type ExecStatus = (typeof EXEC_STATUSES)[number];

/** A command that was run beside a service's program, and what came of it. */
@Entity('server_execs')
@Index('ix_server_execs_server', ['serverId', 'id'])
export class ServerExec {
  @IdPrimary()
  id!: string;

  @ForeignKey('servers', { name: 'fk_server_execs_server', onDelete: 'CASCADE' })
  @IdColumn('server_id')
  serverId!: string;

  @IdColumn('operation_id')
  operationId!: string;

  @AsciiColumn('status', 16)
  status!: ExecStatus;

  @Column({ name: 'command', type: 'text' })
  command!: string;

  /** Null as long as it has not ended by itself. */
  @Column({ name: 'exit_code', type: 'int', nullable: true })
  exitCode!: number | null;

  @Column({ name: 'stdout', type: 'mediumtext' })
  stdout!: string;

  @Column({ name: 'stderr', type: 'mediumtext' })
  stderr!: string;

  /** Of both outputs, as they are kept. */
  @Column({ name: 'output_bytes', type: 'int', unsigned: true, default: 0 })
  outputBytes!: number;

  /** Whether there was more output than is kept. */
  @Column({ name: 'truncated', type: 'boolean' })
  truncated!: boolean;

  /** Why it failed. */
  @AsciiColumn('error_code', 64, { nullable: true })
  errorCode!: string | null;

  @TimeColumn('created_at')
  createdAt!: Date;

  @TimeColumn('started_at', { nullable: true })
  startedAt!: Date | null;

  @TimeColumn('finished_at', { nullable: true })
  finishedAt!: Date | null;
}
