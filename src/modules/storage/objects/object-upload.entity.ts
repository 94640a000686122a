import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { CountColumn, IdColumn, TimeColumn } from '../../../platform/database/columns.js';

/**
 * An object on its way in: it owns the blob that is being written, and holds the room that it takes of the account's quota.
 * Whoever writes it says now and then that it is alive; a silent one is given up.
 */
@Entity('object_uploads')
export class ObjectUpload {
  @PrimaryColumn({ name: 'blob_id', type: 'varchar', length: 32, charset: 'ascii', collation: 'ascii_bin' })
  blobId!: string;

  @Index('ix_object_uploads_account')
  @ForeignKey('accounts', { name: 'fk_object_uploads_account' })
  @IdColumn('account_id')
  accountId!: string;

  @Index('ix_object_uploads_bucket')
  @ForeignKey('buckets', { name: 'fk_object_uploads_bucket' })
  @IdColumn('bucket_id')
  bucketId!: string;

  @CountColumn('reserved_bytes')
  reservedBytes!: number;

  /** The blob of the object that it is to replace, where that one's room counts for it: of several, for the first alone. */
  @Index('uq_object_uploads_replaces', { unique: true })
  @Column({
    name: 'replaces_blob_id',
    type: 'varchar',
    length: 32,
    charset: 'ascii',
    collation: 'ascii_bin',
    nullable: true,
  })
  replacesBlobId!: string | null;

  @Index('ix_object_uploads_seen')
  @TimeColumn('seen_at')
  seenAt!: Date;
}
