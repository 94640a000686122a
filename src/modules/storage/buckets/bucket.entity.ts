import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { AsciiColumn, CountColumn, IdColumn, IdPrimary, TimeColumn } from '../../../platform/database/columns.js';

/** A bucket. Its counters change in the transactions that change its objects. */
@Entity('buckets')
@Index('uq_buckets_name', ['accountId', 'name'], { unique: true })
@Index('ix_buckets_deleted', ['deletedAt'])
export class Bucket {
  @IdPrimary()
  id!: string;

  @ForeignKey('accounts', { name: 'fk_buckets_account' })
  @IdColumn('account_id')
  accountId!: string;

  /** Null from the moment it is deleted. */
  @AsciiColumn('name', 63, { nullable: true })
  name!: string | null;

  @Column({ name: 'is_public', type: 'boolean' })
  isPublic!: boolean;

  @CountColumn('objects')
  objects!: number;

  @CountColumn('used_bytes')
  usedBytes!: number;

  /** Grows with every change of its objects: whoever knows one of them as of the same revision knows it as it is. */
  @CountColumn('revision', { default: 0 })
  revision!: number;

  @TimeColumn('created_at')
  createdAt!: Date;

  @TimeColumn('updated_at')
  updatedAt!: Date;

  /** Gone from the API; the blobs follow, then the rows. */
  @TimeColumn('deleted_at', { nullable: true })
  deletedAt!: Date | null;
}
