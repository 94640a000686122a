import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { AsciiColumn, CountColumn, IdColumn, IdPrimary, TimeColumn } from '../../platform/database/columns.js';
import type { DatabaseStatus } from './database-status.js';

/** The database of a service. Its schema and accounts on the host are named by its id. */
@Entity('service_databases')
export class ServiceDatabase {
  @IdPrimary()
  id!: string;

  @ForeignKey('servers', { name: 'fk_service_databases_server' })
  @Index('uq_service_databases_server', { unique: true })
  @IdColumn('server_id')
  serverId!: string;

  @ForeignKey('database_hosts', { name: 'fk_service_databases_host' })
  @Index('ix_service_databases_host')
  @IdColumn('host_id')
  hostId!: string;

  @AsciiColumn('status', 16)
  status!: DatabaseStatus;

  /** Grows with every new password of the program's account. */
  @Column({ name: 'version', type: 'int' })
  version!: number;

  @Column({ name: 'sealed_program', type: 'varbinary', length: 128 })
  sealedProgram!: Buffer;

  /** The program's next password, while the host is being told. */
  @Column({ name: 'sealed_next', type: 'varbinary', length: 128, nullable: true })
  sealedNext!: Buffer | null;

  @Column({ name: 'sealed_platform', type: 'varbinary', length: 128 })
  sealedPlatform!: Buffer;

  /** On disk, as it was measured last. */
  @CountColumn('size_bytes')
  sizeBytes!: number;

  @TimeColumn('created_at')
  createdAt!: Date;
}
