import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { IdColumn, IdPrimary, TimeColumn } from '../../../platform/database/columns.js';

/** A scan that counts against the plan, whatever becomes of its report. */
@Entity('seo_scan_uses')
@Index('ix_seo_scan_uses_account', ['accountId', 'usedAt'])
export class SeoScanUse {
  @IdPrimary()
  id!: string;

  @ForeignKey('accounts', { name: 'fk_seo_scan_uses_account' })
  @IdColumn('account_id')
  accountId!: string;

  /** False while the scan is under way: its place is kept, and falls free if nobody tells how it ended. */
  @Column({ name: 'settled', type: 'boolean' })
  settled!: boolean;

  @TimeColumn('used_at')
  usedAt!: Date;
}
