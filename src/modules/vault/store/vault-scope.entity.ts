import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { AsciiColumn, CountColumn, IdColumn, TimeColumn } from '../../../platform/database/columns.js';

/**
 * The secrets of one service, or those of a whole account: what they are encrypted under, and the head, a code over all of
 * them that only the key provider's holder can make. Every change raises the epoch.
 */
@Entity('vault_scopes')
export class VaultScope {
  /** `srv:` or `acct:` and the id of what it belongs to. */
  @PrimaryColumn({ name: 'scope', type: 'varchar', length: 40, charset: 'ascii', collation: 'ascii_bin' })
  scope!: string;

  @ForeignKey('accounts', { name: 'fk_vault_scopes_account', onDelete: 'CASCADE' })
  @Index('ix_vault_scopes_account')
  @IdColumn('account_id')
  accountId!: string;

  @ForeignKey('servers', { name: 'fk_vault_scopes_server', onDelete: 'CASCADE' })
  @Index('ix_vault_scopes_server')
  @IdColumn('server_id', { nullable: true })
  serverId!: string | null;

  @Index('ix_vault_scopes_kek')
  @AsciiColumn('kek_id', 512)
  kekId!: string;

  @Column({ name: 'wrapped_seed', type: 'varbinary', length: 4096 })
  wrappedSeed!: Buffer;

  /** Which seed it is; a new one raises it. */
  @Column({ name: 'generation', type: 'int' })
  generation!: number;

  @CountColumn('epoch')
  epoch!: number;

  /** Versions up to this one were given to keys that are not remembered any more. */
  @Column({ name: 'version_floor', type: 'int' })
  versionFloor!: number;

  @Column({ name: 'head', type: 'varbinary', length: 32 })
  head!: Buffer;

  @TimeColumn('created_at')
  createdAt!: Date;
}
