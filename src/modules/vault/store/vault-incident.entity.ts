import { Column, Entity, Index } from 'typeorm';
import { AsciiColumn, IdPrimary, TimeColumn } from '../../../platform/database/columns.js';

/**
 * - `HEAD_MISMATCH`: rows were changed, put back or removed behind the platform's back;
 * - `EPOCH_ROLLBACK`: the whole scope is older than what the anchor has seen;
 * - `CIPHERTEXT`: a value does not open; `WRAPPED_KEY`: a key does not open;
 * - `ACCEPTED`: an operator took the state as it stands for good.
 */
export type IncidentKind = 'HEAD_MISMATCH' | 'EPOCH_ROLLBACK' | 'CIPHERTEXT' | 'WRAPPED_KEY' | 'ACCEPTED';

/** A state of the vault that was refused, or taken for good by an operator. */
@Entity('vault_incidents')
@Index('ix_vault_incidents_scope', ['scope', 'id'])
export class VaultIncident {
  @IdPrimary()
  id!: string;

  @AsciiColumn('scope', 40)
  scope!: string;

  @AsciiColumn('kind', 32)
  kind!: IncidentKind;

  @Column({ name: 'detail', type: 'varchar', length: 500 })
  detail!: string;

  @TimeColumn('created_at')
  createdAt!: Date;
}
