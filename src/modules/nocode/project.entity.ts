import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { IdColumn, IdPrimary, TimeColumn } from '../../platform/database/columns.js';

/** A project of the no-code builder. What its document means is the builder's alone. */
@Entity('nocode_projects')
@Index('ix_nocode_projects_account', ['accountId', 'id'])
export class NocodeProject {
  @IdPrimary()
  id!: string;

  @ForeignKey('accounts', { name: 'fk_nocode_projects_account' })
  @IdColumn('account_id')
  accountId!: string;

  @Column({ name: 'name', type: 'varchar', length: 100 })
  name!: string;

  @Column({ name: 'revision', type: 'int', unsigned: true })
  revision!: number;

  /** Of the document as it was sent. */
  @Column({ name: 'bytes', type: 'int', unsigned: true })
  bytes!: number;

  /** Compressed (Zstandard). Read only where it is asked for. */
  @Column({ name: 'document', type: 'mediumblob', select: false })
  document!: Buffer;

  @TimeColumn('created_at')
  createdAt!: Date;

  @TimeColumn('updated_at')
  updatedAt!: Date;
}
