import { Column, Entity, PrimaryColumn } from 'typeorm';
import { AsciiColumn } from '../../../platform/database/columns.js';

/** What a platform-wide key of the vault is for. */
export type VaultKeyName = 'head' | 'fingerprint';

/** A key that belongs to no scope, wrapped by the key provider. */
@Entity('vault_keys')
export class VaultKey {
  @PrimaryColumn({ name: 'name', type: 'varchar', length: 16, charset: 'ascii', collation: 'ascii_bin' })
  name!: VaultKeyName;

  @AsciiColumn('kek_id', 512)
  kekId!: string;

  @Column({ name: 'wrapped', type: 'varbinary', length: 4096 })
  wrapped!: Buffer;
}
