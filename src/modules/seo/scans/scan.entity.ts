import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { IdColumn, IdPrimary, TimeColumn } from '../../../platform/database/columns.js';

/** A scan with its report, which is read again and again without asking the site. */
@Entity('seo_scans')
@Index('ix_seo_scans_account', ['accountId', 'id'])
@Index('ix_seo_scans_host', ['accountId', 'host', 'id'])
export class SeoScan {
  @IdPrimary()
  id!: string;

  @ForeignKey('accounts', { name: 'fk_seo_scans_account' })
  @IdColumn('account_id')
  accountId!: string;

  /** As the address that was asked for names it, with a port that is not the usual one. */
  @Column({ name: 'host', type: 'varchar', length: 260, charset: 'ascii', collation: 'ascii_bin' })
  host!: string;

  @Column({ name: 'url', type: 'varchar', length: 8192 })
  url!: string;

  @Column({ name: 'score', type: 'tinyint', unsigned: true })
  score!: number;

  @Column({ name: 'site_score', type: 'tinyint', unsigned: true })
  siteScore!: number;

  @Column({ name: 'pages', type: 'tinyint', unsigned: true })
  pages!: number;

  @Column({ name: 'duration_ms', type: 'int', unsigned: true })
  durationMs!: number;

  /** Its pages and what is said of the site, as JSON, compressed. Read only where it is asked for. */
  @Column({ name: 'report', type: 'mediumblob', select: false })
  report!: Buffer;

  @TimeColumn('created_at')
  createdAt!: Date;
}
