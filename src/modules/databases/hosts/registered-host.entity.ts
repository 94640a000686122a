import { Column, Entity, Index } from 'typeorm';
import { AsciiColumn, IdPrimary, TimeColumn } from '../../../platform/database/columns.js';

/** A server that tenants' databases live on; never the platform's own. */
@Entity('database_hosts')
export class RegisteredHost {
  @IdPrimary()
  id!: string;

  @Index('uq_database_hosts_name', { unique: true })
  @AsciiColumn('name', 64)
  name!: string;

  /** Where the platform reaches it. */
  @AsciiColumn('address', 255)
  address!: string;

  @Column({ name: 'port', type: 'int' })
  port!: number;

  /** Where hosted programs reach it. */
  @AsciiColumn('service_address', 255)
  serviceAddress!: string;

  @Column({ name: 'service_port', type: 'int' })
  servicePort!: number;

  @AsciiColumn('admin_user', 80)
  adminUser!: string;

  @Column({ name: 'sealed_password', type: 'varbinary', length: 320 })
  sealedPassword!: Buffer;

  @Column({ name: 'ca_certificate', type: 'text', nullable: true })
  caCertificate!: string | null;

  /** How many databases are put on it. */
  @Column({ name: 'capacity', type: 'int' })
  capacity!: number;

  /** Why nothing new is put on it; null when all is well. */
  @Column({ name: 'fault', type: 'varchar', length: 500, nullable: true })
  fault!: string | null;

  @TimeColumn('checked_at', { nullable: true })
  checkedAt!: Date | null;

  @TimeColumn('created_at')
  createdAt!: Date;
}
