import { Entity, Index, PrimaryColumn } from 'typeorm';
import { IdColumn, TimeColumn } from '../../../platform/database/columns.js';

/** Whose a domain is, and for a while after its site is gone still was. */
@Entity('site_domains')
export class DomainClaim {
  @PrimaryColumn({ name: 'domain', type: 'varchar', length: 253, charset: 'ascii', collation: 'ascii_bin' })
  domain!: string;

  @IdColumn('account_id')
  accountId!: string;

  /** When a TXT record of the domain last proved it to be the account's; what is below the domain is then too. */
  @TimeColumn('verified_at', { nullable: true })
  verifiedAt!: Date | null;

  /** When its site was deleted; null while there is one. */
  @Index('ix_site_domains_released')
  @TimeColumn('released_at', { nullable: true })
  releasedAt!: Date | null;
}
