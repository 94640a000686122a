import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { AsciiColumn, IdColumn, IdPrimary, TimeColumn } from '../../../platform/database/columns.js';
import type { Protocol } from '../../../platform/network/protocol.js';

/** `REMOVING` is out of its account's sight, and nobody else's until the engine has let go of it. */
export type MachinePortStatus = 'PENDING' | 'ACTIVE' | 'REMOVING';

/** A public port that leads to one of a machine's. Its claim stands in the ledger of all public ports. */
@Entity('machine_ports')
export class MachinePort {
  @IdPrimary()
  id!: string;

  @Index('ix_machine_ports_machine')
  @ForeignKey('machines', { name: 'fk_machine_ports_machine', onDelete: 'CASCADE' })
  @IdColumn('machine_id')
  machineId!: string;

  @AsciiColumn('ip', 45)
  ip!: string;

  @AsciiColumn('protocol', 3)
  protocol!: Protocol;

  @Column({ name: 'public_port', type: 'int' })
  publicPort!: number;

  @Column({ name: 'target_port', type: 'int' })
  targetPort!: number;

  @AsciiColumn('status', 16)
  status!: MachinePortStatus;

  @TimeColumn('created_at')
  createdAt!: Date;
}
