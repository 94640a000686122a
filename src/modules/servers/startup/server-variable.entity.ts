import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { IdPrimary } from '../../../platform/database/columns.js';

/** A startup variable that was given a value; those of the catalog without a row have their default. */
@Entity('server_variables')
export class ServerVariable {
  @ForeignKey('servers', { name: 'fk_server_variables_server', onDelete: 'CASCADE' })
  @IdPrimary('server_id')
  serverId!: string;

  @PrimaryColumn({ name: 'variable_key', type: 'varchar', length: 64, charset: 'ascii', collation: 'ascii_bin' })
  key!: string;

  @Column({ name: 'value', type: 'varchar', length: 2000 })
  value!: string;
}
