import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { AsciiColumn, IdColumn, IdPrimary, TimeColumn } from '../../platform/database/columns.js';

export const NOTIFICATION_STATUSES = ['QUEUED', 'SENDING', 'SENT', 'NOT_SENT'] as const;
export type NotificationStatus = (typeof NOTIFICATION_STATUSES)[number];

export const MAX_NOTIFICATION = 1800;

/** A private message to the account. Written in the transaction of its cause, sent afterwards by a worker. */
@Entity('notifications')
@Index('ix_notifications_account', ['accountId', 'id'])
@Index('ix_notifications_due', ['status', 'dueAt'])
export class Notification {
  @IdPrimary()
  id!: string;

  @ForeignKey('accounts', { name: 'fk_notifications_account', onDelete: 'CASCADE' })
  @IdColumn('account_id')
  accountId!: string;

  /** What it is about. */
  @IdColumn('resource_id')
  resourceId!: string;

  @AsciiColumn('kind', 64)
  kind!: string;

  @Column({ name: 'text', type: 'varchar', length: MAX_NOTIFICATION })
  text!: string;

  @AsciiColumn('status', 16)
  status!: NotificationStatus;

  /** Why it was not sent, or not yet. */
  @AsciiColumn('reason', 64, { nullable: true })
  reason!: string | null;

  @Column({ name: 'attempts', type: 'int' })
  attempts!: number;

  /** When it may be tried (again); while it is being sent, when its sender is given up. */
  @TimeColumn('due_at')
  dueAt!: Date;

  /** Drawn anew by each sender, so that one who was given up cannot end what another took over. */
  @AsciiColumn('claim', 36, { nullable: true })
  claim!: string | null;

  @TimeColumn('created_at')
  createdAt!: Date;

  @TimeColumn('sent_at', { nullable: true })
  sentAt!: Date | null;
}
