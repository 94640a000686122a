import { Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { IdPrimary } from '../../../platform/database/columns.js';

/** That a certificate was ordered for a site of an account; it outlives the site. */
@Entity('certificate_orders')
export class CertificateOrder {
  @ForeignKey('accounts', { name: 'fk_certificate_orders_account' })
  @IdPrimary('account_id')
  accountId!: string;

  @PrimaryColumn({ name: 'ordered_at', type: 'datetime', precision: 3 })
  orderedAt!: Date;

  @PrimaryColumn({ name: 'domain', type: 'varchar', length: 253, charset: 'ascii', collation: 'ascii_bin' })
  domain!: string;
}
