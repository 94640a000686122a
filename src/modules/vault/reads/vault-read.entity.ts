import { Column, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';
import { AsciiColumn, IdColumn, TimeColumn } from '../../../platform/database/columns.js';

/** `broker`: the service itself, by its node; `token`: whoever has its runtime token; `panel`: the account's holder. */
export type ReadVia = 'broker' | 'token' | 'panel';

/** One request for a service's secrets, written before they leave. */
@Entity('vault_reads')
@Index('ix_vault_reads_server', ['serverId', 'at', 'id'])
export class VaultReadRecord {
  @PrimaryGeneratedColumn({ name: 'id', type: 'bigint', unsigned: true })
  id!: string;

  @ForeignKey('servers', { name: 'fk_vault_reads_server', onDelete: 'CASCADE' })
  @IdColumn('server_id')
  serverId!: string;

  /** The node's name for it, so that one that arrives twice is recorded once. */
  @Index('uq_vault_reads_read', { unique: true })
  @AsciiColumn('read_id', 36, { nullable: true })
  readId!: string | null;

  @AsciiColumn('via', 8)
  via!: ReadVia;

  @AsciiColumn('address', 45)
  address!: string;

  /** Why it was refused; null when it was served. */
  @AsciiColumn('refused', 64, { nullable: true })
  refused!: string | null;

  /** What was served; null when that is nothing. */
  @Index('ix_vault_reads_key_list')
  @ForeignKey('vault_key_lists', { name: 'fk_vault_reads_key_list' })
  @Column({ name: 'key_list', type: 'binary', length: 16, nullable: true })
  keyList!: Buffer | null;

  /** How many refusals of one kind this row stands for. */
  @Column({ name: 'repeated', type: 'int' })
  repeated!: number;

  @TimeColumn('at')
  at!: Date;
}
