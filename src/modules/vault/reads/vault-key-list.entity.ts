import { Column, Entity, PrimaryColumn } from 'typeorm';
import { TimeColumn } from '../../../platform/database/columns.js';

/** The names of secrets that were served together: a program reads the same ones again and again. */
@Entity('vault_key_lists')
export class VaultKeyList {
  /** The first half of the names' SHA-256. */
  @PrimaryColumn({ name: 'hash', type: 'binary', length: 16 })
  hash!: Buffer;

  /** Comma list. */
  @Column({ name: 'names', type: 'text', charset: 'ascii', collation: 'ascii_bin' })
  names!: string;

  /** When a process last made sure of it. */
  @TimeColumn('stored_at')
  storedAt!: Date;
}
