import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { AsciiColumn, CountColumn, IdColumn, IdPrimary, TimeColumn } from '../../../platform/database/columns.js';

export const BACKUP_STATUSES = ['CREATING', 'READY', 'FAILED', 'RESTORING'] as const;
export type BackupStatus = (typeof BACKUP_STATUSES)[number];

/** An archive of a service's data. The row owns its blob from before the first byte is written until the last is gone. */
@Entity('server_backups')
@Index('ix_server_backups_server', ['serverId', 'id'])
@Index('ix_server_backups_deleted', ['deletedAt'])
export class Backup {
  /** Time-ordered; callers know it by its uuid. */
  @IdPrimary()
  id!: string;

  @Index('uq_server_backups_uuid', { unique: true })
  @AsciiColumn('uuid', 36)
  uuid!: string;

  @ForeignKey('servers', { name: 'fk_server_backups_server' })
  @IdColumn('server_id')
  serverId!: string;

  @Column({ name: 'name', type: 'varchar', length: 100 })
  name!: string;

  @AsciiColumn('status', 16)
  status!: BackupStatus;

  /** Size of the archive; null until it is complete. */
  @CountColumn('bytes', { nullable: true })
  bytes!: number | null;

  /** SHA-256 of the archive in hexadecimal. */
  @AsciiColumn('checksum', 64, { nullable: true })
  checksum!: string | null;

  @Index('uq_server_backups_blob', { unique: true })
  @AsciiColumn('blob_id', 32, { nullable: true })
  blobId!: string | null;

  /** Neither deleted nor replaced by a scheduled one. */
  @Column({ name: 'is_locked', type: 'boolean' })
  isLocked!: boolean;

  @Column({ name: 'is_scheduled', type: 'boolean' })
  isScheduled!: boolean;

  @TimeColumn('created_at')
  createdAt!: Date;

  @TimeColumn('completed_at', { nullable: true })
  completedAt!: Date | null;

  /** Gone from the API; the blob follows, then the row. */
  @TimeColumn('deleted_at', { nullable: true })
  deletedAt!: Date | null;
}
