import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { TimeColumn } from '../../../platform/database/columns.js';

/** A blob that no object has any more and that is to be removed from the store. */
@Entity('discarded_blobs')
export class DiscardedBlob {
  @PrimaryColumn({ name: 'blob_id', type: 'varchar', length: 32, charset: 'ascii', collation: 'ascii_bin' })
  blobId!: string;

  @Index('ix_discarded_blobs_at')
  @TimeColumn('discarded_at')
  discardedAt!: Date;

  /** Its upload came to its end, so that it has left nothing else. */
  @Column({ name: 'whole', type: 'boolean', default: false })
  whole!: boolean;
}
