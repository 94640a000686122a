import { Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AsciiColumn, CountColumn, TimeColumn } from '../../../platform/database/columns.js';

/** What a bucket holds under a key. The row owns its blob. */
@Entity('bucket_objects')
export class StoredObject {
  @ForeignKey('buckets', { name: 'fk_bucket_objects_bucket' })
  @PrimaryColumn({ name: 'bucket_id', type: 'char', length: 30, charset: 'ascii', collation: 'ascii_bin' })
  bucketId!: string;

  /** The UTF-8 of the key, compared byte by byte. */
  @PrimaryColumn({ name: 'object_key', type: 'varbinary', length: 1024 })
  key!: Buffer;

  @Index('uq_bucket_objects_blob', { unique: true })
  @AsciiColumn('blob_id', 32)
  blobId!: string;

  @CountColumn('size')
  size!: number;

  @AsciiColumn('content_type', 255)
  contentType!: string;

  @AsciiColumn('sha256', 64)
  sha256!: string;

  @TimeColumn('modified_at')
  modifiedAt!: Date;

  /** Strong: another content has another one. */
  get etag(): string {
    return `"${this.sha256}"`;
  }
}
