import { Column, Entity, Index } from 'typeorm';
import { AsciiColumn, IdColumn, IdPrimary, TimeColumn } from '../database/columns.js';

/** Who did it. `system` is the platform itself: a crash seen, a schedule that ran; `sftp` is whoever knows the service's password. */
export interface Actor {
  type: 'key' | 'session' | 'system' | 'sftp';
  id: string | null;
}

/** One entry of the activity log, written in the transaction of the change it tells of. */
@Entity('activity_events')
@Index('ix_activity_resource', ['resourceId', 'id'])
@Index('ix_activity_account', ['accountId', 'id'])
export class ActivityEvent {
  @IdPrimary()
  id!: string;

  @IdColumn('account_id')
  accountId!: string;

  @IdColumn('resource_id')
  resourceId!: string;

  /** `server:power.start` grammar: kind of resource, area, verb. */
  @AsciiColumn('event', 64)
  event!: string;

  @AsciiColumn('actor_type', 16)
  actorType!: Actor['type'];

  @IdColumn('actor_id', { nullable: true })
  actorId!: string | null;

  @AsciiColumn('ip', 45, { nullable: true })
  ip!: string | null;

  /** Never a secret, nor a value of the tenant's variables. */
  @Column({ name: 'properties', type: 'json' })
  properties!: object;

  @TimeColumn('created_at')
  createdAt!: Date;
}
