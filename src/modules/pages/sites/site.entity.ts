import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { AsciiColumn, IdColumn, IdPrimary, TimeColumn } from '../../../platform/database/columns.js';

export type TlsStatus = 'pending' | 'active' | 'failed';

/** A static site. What it shows is the deployment it points to. */
@Entity('sites')
@Index('ix_sites_account', ['accountId', 'id'])
export class Site {
  @IdPrimary()
  id!: string;

  @ForeignKey('accounts', { name: 'fk_sites_account' })
  @IdColumn('account_id')
  accountId!: string;

  @Column({ name: 'name', type: 'varchar', length: 64 })
  name!: string;

  /** In ASCII and lower case; null from the moment the site is deleted. */
  @Index('uq_sites_domain', { unique: true })
  @AsciiColumn('domain', 253, { nullable: true })
  domain!: string | null;

  @Column({ name: 'spa', type: 'boolean' })
  spa!: boolean;

  @Column({ name: 'active', type: 'boolean' })
  active!: boolean;

  @IdColumn('current_deployment_id', { nullable: true })
  currentDeploymentId!: string | null;

  @AsciiColumn('tls_status', 8)
  tlsStatus!: TlsStatus;

  @Column({ name: 'tls_issuer', type: 'varchar', length: 255, nullable: true })
  tlsIssuer!: string | null;

  @TimeColumn('tls_not_after', { nullable: true })
  tlsNotAfter!: Date | null;

  @Column({ name: 'tls_error', type: 'varchar', length: 500, nullable: true })
  tlsError!: string | null;

  /** Failed handshakes in a row: they decide how long to wait for the next. */
  @Column({ name: 'tls_attempts', type: 'int' })
  tlsAttempts!: number;

  @Index('ix_sites_tls_next')
  @TimeColumn('tls_next_at')
  tlsNextAt!: Date;

  /** Until when the edge may order a certificate though there is none yet. */
  @TimeColumn('tls_order_until', { nullable: true })
  tlsOrderUntil!: Date | null;

  /** When the domain was first seen not to point here any more, if it has not since. */
  @TimeColumn('dns_failed_at', { nullable: true })
  dnsFailedAt!: Date | null;

  /** Since when it has been so long enough that it gets no certificate. */
  @TimeColumn('dns_lost_at', { nullable: true })
  dnsLostAt!: Date | null;

  @Index('ix_sites_dns_next')
  @TimeColumn('dns_next_at')
  dnsNextAt!: Date;

  @TimeColumn('created_at')
  createdAt!: Date;

  @TimeColumn('updated_at')
  updatedAt!: Date;

  /** Gone from the API and for readers; its deployments follow, then the row. */
  @Index('ix_sites_deleted')
  @TimeColumn('deleted_at', { nullable: true })
  deletedAt!: Date | null;
}
