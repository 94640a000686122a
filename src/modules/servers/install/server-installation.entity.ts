import { Column, Entity, ForeignKey } from 'typeorm';
import { IdPrimary, TimeColumn } from '../../../platform/database/columns.js';

/** How the last installation of a service went. */
@Entity('server_installations')
export class ServerInstallation {
  @ForeignKey('servers', { name: 'fk_server_installations_server', onDelete: 'CASCADE' })
  @IdPrimary('server_id')
  serverId!: string;

  /** Null when the installation was cut off. */
  @Column({ name: 'exit_code', type: 'int', nullable: true })
  exitCode!: number | null;

  /** The newest part of what it printed. */
  @Column({ name: 'log', type: 'mediumtext' })
  log!: string;

  @TimeColumn('finished_at')
  finishedAt!: Date;
}
