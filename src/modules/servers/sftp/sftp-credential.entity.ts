import { Column, Entity, ForeignKey } from 'typeorm';
import { IdPrimary, TimeColumn } from '../../../platform/database/columns.js';

/** The password for a service's files: its own, and nobody's account's. */
@Entity('server_sftp_credentials')
export class SftpCredential {
  @ForeignKey('servers', { name: 'fk_server_sftp_credentials_server', onDelete: 'CASCADE' })
  @IdPrimary('server_id')
  serverId!: string;

  /** Grows with every new password: sessions made under an older one end. */
  @Column({ name: 'version', type: 'int' })
  version!: number;

  @Column({ name: 'sealed_password', type: 'varbinary', length: 128 })
  sealedPassword!: Buffer;

  @TimeColumn('updated_at')
  updatedAt!: Date;
}
