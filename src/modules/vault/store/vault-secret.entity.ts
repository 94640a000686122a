import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { AsciiColumn, IdPrimary, TimeColumn } from '../../../platform/database/columns.js';
import { VaultScope } from './vault-scope.entity.js';

/** One secret. A deleted one stays as a row without a value, so that its key goes on with higher versions. */
@Entity('vault_secrets')
@Index('uq_vault_secrets_key', ['scope', 'key'], { unique: true })
export class VaultSecret {
  @IdPrimary()
  id!: string;

  @ForeignKey(() => VaultScope, (scope) => scope.scope, { name: 'fk_vault_secrets_scope', onDelete: 'CASCADE' })
  @AsciiColumn('scope', 40)
  scope!: string;

  @AsciiColumn('key_name', 128)
  key!: string;

  @Column({ name: 'version', type: 'int' })
  version!: number;

  @Column({ name: 'sealed', type: 'boolean' })
  sealed!: boolean;

  @Column({ name: 'ciphertext', type: 'blob', nullable: true })
  ciphertext!: Buffer | null;

  @AsciiColumn('fingerprint', 16)
  fingerprint!: string;

  /** Bytes of UTF-8. */
  @Column({ name: 'size', type: 'int' })
  size!: number;

  @Column({ name: 'note', type: 'varchar', length: 500, nullable: true })
  note!: string | null;

  /** `YYYY-MM-DD`, a day in UTC. Text, as a date without a time is a moment in some time zone to every driver. */
  @Index('ix_vault_secrets_expiry')
  @AsciiColumn('expires_at', 10, { nullable: true })
  expiresAt!: string | null;

  /** Whether the account was told seven days before. */
  @Column({ name: 'week_reminded', type: 'boolean' })
  weekReminded!: boolean;

  /** Whether it was told on the day. */
  @Column({ name: 'day_reminded', type: 'boolean' })
  dayReminded!: boolean;

  @TimeColumn('value_set_at')
  valueSetAt!: Date;

  @TimeColumn('last_read_at', { nullable: true })
  lastReadAt!: Date | null;

  @TimeColumn('deleted_at', { nullable: true })
  deletedAt!: Date | null;

  @TimeColumn('created_at')
  createdAt!: Date;

  @TimeColumn('updated_at')
  updatedAt!: Date;
}
