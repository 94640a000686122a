import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { AsciiColumn, IdColumn, IdPrimary, TimeColumn } from '../../../platform/database/columns.js';

export const SNAPSHOT_STATUSES = ['CREATING', 'READY', 'RESTORING', 'DELETING'] as const;
export type SnapshotStatus = (typeof SNAPSHOT_STATUSES)[number];

/** A machine's disk as it was at some moment. */
@Entity('machine_snapshots')
export class MachineSnapshot {
  @IdPrimary()
  id!: string;

  @Index('ix_machine_snapshots_machine')
  @ForeignKey('machines', { name: 'fk_machine_snapshots_machine', onDelete: 'CASCADE' })
  @IdColumn('machine_id')
  machineId!: string;

  @Column({ name: 'name', type: 'varchar', length: 64 })
  name!: string;

  @AsciiColumn('status', 16)
  status!: SnapshotStatus;

  @TimeColumn('created_at')
  createdAt!: Date;
}
