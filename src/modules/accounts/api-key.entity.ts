import { Column, Entity, ForeignKey, Index } from 'typeorm';
import type { ApiScope } from '../../platform/auth/principal.js';
import { AsciiColumn, IdColumn, IdPrimary, TimeColumn } from '../../platform/database/columns.js';
import { Account } from './account.entity.js';

/** An API key as it is kept: its hash, and as much of it as a person needs to know it again. */
@Entity('api_keys')
export class ApiKey {
  @IdPrimary()
  id!: string;

  @Index('ix_api_keys_account')
  @ForeignKey(() => Account, { name: 'fk_api_keys_account', onDelete: 'CASCADE' })
  @IdColumn('account_id')
  accountId!: string;

  @Column({ name: 'name', type: 'varchar', length: 64, nullable: true })
  name!: string | null;

  /** `svc_` and the first 8 hexadecimal characters. */
  @AsciiColumn('prefix', 12)
  prefix!: string;

  /** SHA-256 of the whole key in hexadecimal. */
  @Index('uq_api_keys_hashed_key', { unique: true })
  @AsciiColumn('hashed_key', 64)
  hashedKey!: string;

  @AsciiColumn('scopes', 32, {
    transformer: { to: (scopes: ApiScope[]) => scopes.join(','), from: (text: string) => text.split(',') },
  })
  scopes!: ApiScope[];

  /** Addresses and ranges the key may be used from; null is anywhere. */
  @AsciiColumn('allowed_addresses', 1000, {
    nullable: true,
    transformer: {
      to: (addresses: string[] | null | undefined) => addresses?.join(',') ?? null,
      from: (text: string | null) => text?.split(',') ?? null,
    },
  })
  allowedAddresses!: string[] | null;

  @TimeColumn('last_used_at', { nullable: true })
  lastUsedAt!: Date | null;

  @TimeColumn('expires_at', { nullable: true })
  expiresAt!: Date | null;

  @TimeColumn('revoked_at', { nullable: true })
  revokedAt!: Date | null;

  @TimeColumn('created_at')
  createdAt!: Date;
}
