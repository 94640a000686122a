import { Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { asNumber, IdColumn, TimeColumn } from '../../platform/database/columns.js';

/** Ledger of the machine network's addresses, see `platform/network/address-pool.ts`. */
@Entity('machine_addresses')
export class MachineAddress {
  @PrimaryColumn({ name: 'network', type: 'varchar', length: 15, charset: 'ascii', collation: 'ascii_bin' })
  network!: string;

  @PrimaryColumn({ name: 'ip', type: 'bigint', unsigned: true, transformer: asNumber })
  ip!: number;

  @Index('uq_machine_addresses_machine', { unique: true })
  @ForeignKey('machines', { name: 'fk_machine_addresses_machine', onDelete: 'SET NULL' })
  @IdColumn('machine_id', { nullable: true })
  machineId!: string | null;

  @TimeColumn('released_at', { nullable: true })
  releasedAt!: Date | null;
}
