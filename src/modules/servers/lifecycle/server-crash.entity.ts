import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { AsciiColumn, IdColumn, IdPrimary, TimeColumn } from '../../../platform/database/columns.js';

/** A program that ended without being asked to. */
@Entity('server_crashes')
@Index('ix_server_crashes_server', ['serverId', 'at'])
export class ServerCrash {
  @IdPrimary()
  id!: string;

  @ForeignKey('servers', { name: 'fk_server_crashes_server', onDelete: 'CASCADE' })
  @IdColumn('server_id')
  serverId!: string;

  /** Null when the container was ended from outside, so that nobody could tell. */
  @Column({ name: 'exit_code', type: 'int', nullable: true })
  exitCode!: number | null;

  @AsciiColumn('signal', 16, { nullable: true })
  signal!: string | null;

  @Column({ name: 'out_of_memory', type: 'boolean' })
  outOfMemory!: boolean;

  /** Whether the platform started the program again. */
  @Column({ name: 'restarted', type: 'boolean', default: false })
  restarted!: boolean;

  /** The newest lines on the program's console. The account's data: they never go into a log. */
  @Column({ name: 'output', type: 'json', nullable: true })
  output!: string[] | null;

  /** Consumption shortly before the end. */
  @Column({ name: 'memory_bytes', type: 'bigint', unsigned: true, nullable: true })
  memoryBytes!: number | null;

  @Column({ name: 'cpu_percent', type: 'double', nullable: true })
  cpuPercent!: number | null;

  @TimeColumn('usage_at', { nullable: true })
  usageAt!: Date | null;

  @TimeColumn('at')
  at!: Date;
}
