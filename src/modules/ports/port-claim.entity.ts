import { Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { IdColumn } from '../../platform/database/columns.js';
import type { Protocol } from '../../platform/network/protocol.js';

/**
 * The claim on a public port: there is one row for each, whoever holds it, a service or a machine. It ends with what it
 * belongs to.
 */
@Entity('port_claims')
export class PortClaim {
  @PrimaryColumn({ name: 'ip', type: 'varchar', length: 45, charset: 'ascii', collation: 'ascii_bin' })
  ip!: string;

  @PrimaryColumn({ name: 'protocol', type: 'varchar', length: 3, charset: 'ascii', collation: 'ascii_bin' })
  protocol!: Protocol;

  @PrimaryColumn({ name: 'port', type: 'int' })
  port!: number;

  @Index('uq_port_claims_allocation', { unique: true })
  @ForeignKey('allocations', { name: 'fk_port_claims_allocation', onDelete: 'CASCADE' })
  @IdColumn('allocation_id', { nullable: true })
  allocationId!: string | null;

  @Index('uq_port_claims_machine_port', { unique: true })
  @ForeignKey('machine_ports', { name: 'fk_port_claims_machine_port', onDelete: 'CASCADE' })
  @IdColumn('machine_port_id', { nullable: true })
  machinePortId!: string | null;
}
