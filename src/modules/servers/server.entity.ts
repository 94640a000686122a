import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { AsciiColumn, IdColumn, IdPrimary, TimeColumn } from '../../platform/database/columns.js';
import type { Runtime } from './runtimes.js';
import type { ServerStatus } from './server-status.js';

/** An application service: a program of the account's in a container of its own. */
@Entity('servers')
@Index('ix_servers_account', ['accountId', 'id'])
@Index('ix_servers_status', ['status'])
export class Server {
  @IdPrimary()
  id!: string;

  @Index('uq_servers_uuid', { unique: true })
  @AsciiColumn('uuid', 36)
  uuid!: string;

  @ForeignKey('accounts', { name: 'fk_servers_account' })
  @IdColumn('account_id')
  accountId!: string;

  @ForeignKey('nodes', { name: 'fk_servers_node' })
  @Index('ix_servers_node')
  @IdColumn('node_id')
  nodeId!: string;

  @Column({ name: 'name', type: 'varchar', length: 48 })
  name!: string;

  @Column({ name: 'description', type: 'varchar', length: 500 })
  description!: string;

  @AsciiColumn('status', 16)
  status!: ServerStatus;

  @AsciiColumn('runtime', 16)
  runtime!: Runtime;

  @AsciiColumn('image', 64)
  image!: string;

  /** MB. */
  @Column({ name: 'ram', type: 'int' })
  ram!: number;

  /** MB. */
  @Column({ name: 'disk', type: 'int' })
  disk!: number;

  /** Percent of one core. */
  @Column({ name: 'cpu', type: 'int' })
  cpu!: number;

  @Column({ name: 'auto_restart', type: 'boolean' })
  autoRestart!: boolean;

  /** Crashes before this moment do not count against the restart budget: a start by hand resets it. */
  @TimeColumn('restart_budget_from')
  restartBudgetFrom!: Date;

  /** First successful installation; null as long as there is no data of the account's to keep. */
  @TimeColumn('installed_at', { nullable: true })
  installedAt!: Date | null;

  @TimeColumn('created_at')
  createdAt!: Date;

  @TimeColumn('updated_at')
  updatedAt!: Date;
}
