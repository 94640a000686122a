import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { AsciiColumn, IdColumn, IdPrimary, TimeColumn } from '../../platform/database/columns.js';
import type { MachineStatus } from './machine-status.js';

/** A whole Linux machine of the account's, in a container with an init of its own. */
@Entity('machines')
@Index('ix_machines_account', ['accountId', 'id'])
@Index('ix_machines_status', ['status'])
export class Machine {
  @IdPrimary()
  id!: string;

  /** What its console is reached by. */
  @Index('uq_machines_uuid', { unique: true })
  @AsciiColumn('uuid', 36)
  uuid!: string;

  @ForeignKey('accounts', { name: 'fk_machines_account' })
  @IdColumn('account_id')
  accountId!: string;

  @ForeignKey('nodes', { name: 'fk_machines_node' })
  @Index('ix_machines_node')
  @IdColumn('node_id')
  nodeId!: string;

  @Column({ name: 'name', type: 'varchar', length: 48 })
  name!: string;

  @AsciiColumn('status', 16)
  status!: MachineStatus;

  /** Alias of the image it is made from. */
  @AsciiColumn('image', 64)
  image!: string;

  /** Processors. */
  @Column({ name: 'cpu', type: 'int' })
  cpu!: number;

  /** MB. */
  @Column({ name: 'ram_mb', type: 'int' })
  ramMb!: number;

  /** GB. */
  @Column({ name: 'disk_gb', type: 'int' })
  diskGb!: number;

  /** The line of root's `authorized_keys` at its first start. */
  @Column({ name: 'ssh_key', type: 'text' })
  sshKey!: string;

  @TimeColumn('created_at')
  createdAt!: Date;

  @TimeColumn('updated_at')
  updatedAt!: Date;
}
