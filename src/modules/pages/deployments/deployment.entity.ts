import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { AsciiColumn, CountColumn, IdColumn, IdPrimary, TimeColumn } from '../../../platform/database/columns.js';

export type DeploymentStatus = 'PREPARING' | 'READY';

/** What was deployed once: a pack in the object store, which never changes. */
@Entity('deployments')
@Index('ix_deployments_site', ['siteId', 'id'])
@Index('ix_deployments_status', ['status', 'createdAt'])
export class Deployment {
  @IdPrimary()
  id!: string;

  @ForeignKey('sites', { name: 'fk_deployments_site' })
  @IdColumn('site_id')
  siteId!: string;

  @AsciiColumn('status', 16)
  status!: DeploymentStatus;

  @Index('ix_deployments_blob')
  @AsciiColumn('blob_id', 32)
  blobId!: string;

  @CountColumn('manifest_at')
  manifestAt!: number;

  @CountColumn('manifest_bytes')
  manifestBytes!: number;

  @Column({ name: 'files', type: 'int' })
  files!: number;

  @CountColumn('bytes')
  bytes!: number;

  /** Lines of `_headers` and `_redirects` that have no effect. */
  @Column({ name: 'warnings', type: 'json' })
  warnings!: { file: string; line: number; message: string }[];

  /** When another one took its place; null for one that is shown or never was. */
  @TimeColumn('retired_at', { nullable: true })
  retiredAt!: Date | null;

  /** Gone from the API; the pack follows, then the row. */
  @Index('ix_deployments_discarded')
  @TimeColumn('discarded_at', { nullable: true })
  discardedAt!: Date | null;

  @TimeColumn('created_at')
  createdAt!: Date;
}
