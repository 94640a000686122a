import { Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { IdColumn, TimeColumn } from '../../platform/database/columns.js';
import { Account } from './account.entity.js';

const EXACT = { charset: 'utf8mb4', collation: 'utf8mb4_nopad_bin' } as const;

/** A login at an identity provider. The pair of issuer and subject is the identity; an e-mail address never is. */
@Entity('identities')
export class Identity {
  @PrimaryColumn({ name: 'issuer', type: 'varchar', length: 255, ...EXACT })
  issuer!: string;

  @PrimaryColumn({ name: 'subject', type: 'varchar', length: 255, ...EXACT })
  subject!: string;

  @Index('ix_identities_account')
  @ForeignKey(() => Account, { name: 'fk_identities_account', onDelete: 'CASCADE' })
  @IdColumn('account_id')
  accountId!: string;

  @TimeColumn('created_at')
  createdAt!: Date;
}
