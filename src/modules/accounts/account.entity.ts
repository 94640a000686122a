import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { AsciiColumn, IdPrimary, TimeColumn } from '../../platform/database/columns.js';
import { Plan } from './plan.entity.js';

export const ACCOUNT_STATUSES = ['active', 'suspended'] as const;
export type AccountStatus = (typeof ACCOUNT_STATUSES)[number];

@Entity('accounts')
export class Account {
  @IdPrimary()
  id!: string;

  /** Lower case; see `username.ts`. */
  @Index('uq_accounts_username', { unique: true })
  @AsciiColumn('username', 32)
  username!: string;

  /** Lower case. Compared bytewise: a collation that folds accents would let a look-alike address be linked. */
  @Index('uq_accounts_email', { unique: true })
  @Column({ name: 'email', type: 'varchar', length: 254, charset: 'utf8mb4', collation: 'utf8mb4_bin' })
  email!: string;

  @Index('ix_accounts_plan')
  @ForeignKey(() => Plan, { name: 'fk_accounts_plan' })
  @AsciiColumn('plan_id', 32)
  planId!: string;

  @AsciiColumn('status', 16)
  status!: AccountStatus;

  /** Browser sessions carry the number they were made under; raising it ends them all. */
  @Column({ name: 'session_generation', type: 'int', default: 0 })
  sessionGeneration!: number;

  /** Where the chat platform knows the account's holder; null for nobody to be told. */
  @AsciiColumn('chat_user_id', 20, { nullable: true })
  chatUserId!: string | null;

  @TimeColumn('created_at')
  createdAt!: Date;
}
