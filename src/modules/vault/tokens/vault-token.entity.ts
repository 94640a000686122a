import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { AsciiColumn, IdPrimary, TimeColumn } from '../../../platform/database/columns.js';

/** The one runtime token of a service, as it is kept: its hash. */
@Entity('vault_tokens')
export class VaultToken {
  @ForeignKey('servers', { name: 'fk_vault_tokens_server', onDelete: 'CASCADE' })
  @IdPrimary('server_id')
  serverId!: string;

  /** SHA-256 of the whole token in hexadecimal. */
  @Index('uq_vault_tokens_hash', { unique: true })
  @AsciiColumn('token_hash', 64)
  tokenHash!: string;

  /** `evt_` and the first 8 hexadecimal characters. */
  @AsciiColumn('prefix', 12)
  prefix!: string;

  /** Whether it works from addresses of the platform only. */
  @Column({ name: 'address_lock', type: 'boolean' })
  addressLock!: boolean;

  @TimeColumn('created_at')
  createdAt!: Date;
}
