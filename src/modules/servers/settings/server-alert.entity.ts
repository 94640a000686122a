import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { IdPrimary, TimeColumn } from '../../../platform/database/columns.js';

/** At which consumption the account wants to be told, and whether it has been. */
@Entity('server_alerts')
export class ServerAlert {
  @ForeignKey('servers', { name: 'fk_server_alerts_server', onDelete: 'CASCADE' })
  @IdPrimary('server_id')
  serverId!: string;

  /** Percent of the allocation; null for no alert. */
  @Column({ name: 'ram', type: 'double', nullable: true })
  ram!: number | null;

  @Column({ name: 'cpu', type: 'double', nullable: true })
  cpu!: number | null;

  /** Consumption has risen over the threshold and not come back since. */
  @Column({ name: 'ram_raised', type: 'boolean' })
  ramRaised!: boolean;

  @Column({ name: 'cpu_raised', type: 'boolean' })
  cpuRaised!: boolean;

  /** When a worker last took it up for a look: the claim on the next one. */
  @Index('ix_server_alerts_sampled')
  @TimeColumn('sampled_at')
  sampledAt!: Date;

  /** Last reading of the processor's counter; with the next one it makes a percentage, whichever worker reads that. */
  @Column({ name: 'cpu_nanoseconds', type: 'bigint', unsigned: true, nullable: true })
  cpuNanoseconds!: number | null;

  @TimeColumn('cpu_read_at', { nullable: true })
  cpuReadAt!: Date | null;

  /** Start of the program that was read: the counter begins anew with another one. */
  @TimeColumn('program_started_at', { nullable: true })
  programStartedAt!: Date | null;

  @TimeColumn('updated_at')
  updatedAt!: Date;
}
