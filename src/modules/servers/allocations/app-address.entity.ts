import { Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { asNumber, IdColumn, TimeColumn } from '../../../platform/database/columns.js';

/**
 * Ledger of the app network's addresses. A released one rests a while before it is given out again: whoever still knows it
 * (a connection, a mapping) must not find another tenant behind it.
 */
@Entity('app_addresses')
export class AppAddress {
  @PrimaryColumn({ name: 'network', type: 'varchar', length: 15, charset: 'ascii', collation: 'ascii_bin' })
  network!: string;

  /** Numeric IPv4 address, so that the next free one can be computed. */
  @PrimaryColumn({ name: 'ip', type: 'bigint', unsigned: true, transformer: asNumber })
  ip!: number;

  @Index('uq_app_addresses_server', { unique: true })
  @ForeignKey('servers', { name: 'fk_app_addresses_server', onDelete: 'SET NULL' })
  @IdColumn('server_id', { nullable: true })
  serverId!: string | null;

  @TimeColumn('released_at', { nullable: true })
  releasedAt!: Date | null;
}
