import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { AsciiColumn, IdColumn, IdPrimary, TimeColumn } from '../../../platform/database/columns.js';
import { MAX_CRON_FIELD } from './cron-fields.js';

/** Tasks of a service that are done at certain times. */
@Entity('schedules')
@Index('ix_schedules_server', ['serverId', 'id'])
export class Schedule {
  @IdPrimary()
  id!: string;

  @ForeignKey('servers', { name: 'fk_schedules_server', onDelete: 'CASCADE' })
  @IdColumn('server_id')
  serverId!: string;

  @Column({ name: 'name', type: 'varchar', length: 64 })
  name!: string;

  @AsciiColumn('minute', MAX_CRON_FIELD)
  minute!: string;

  @AsciiColumn('hour', MAX_CRON_FIELD)
  hour!: string;

  @AsciiColumn('day_of_month', MAX_CRON_FIELD)
  dayOfMonth!: string;

  @AsciiColumn('month', MAX_CRON_FIELD)
  month!: string;

  @AsciiColumn('day_of_week', MAX_CRON_FIELD)
  dayOfWeek!: string;

  @AsciiColumn('timezone', 64)
  timezone!: string;

  @Column({ name: 'is_active', type: 'boolean' })
  isActive!: boolean;

  @Column({ name: 'only_when_online', type: 'boolean' })
  onlyWhenOnline!: boolean;

  /** Begin of the last run that was not skipped. */
  @TimeColumn('last_run_at', { nullable: true })
  lastRunAt!: Date | null;

  /** The slot that is up next; null while the schedule is inactive. */
  @Index('ix_schedules_next_run')
  @TimeColumn('next_run_at', { nullable: true })
  nextRunAt!: Date | null;

  @TimeColumn('created_at')
  createdAt!: Date;

  @TimeColumn('updated_at')
  updatedAt!: Date;
}
