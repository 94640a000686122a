import { Injectable } from '@nestjs/common';
import { WrongKey } from '../../../platform/crypto/key-provider.js';
import { BrokenCiphertext, openValue } from '../../../platform/crypto/value-cipher.js';
import { Database } from '../../../platform/database/database.js';
import { VaultKeys } from '../keys/vault-keys.service.js';
import { VaultAnchor } from '../vault-anchor.service.js';
import { placeOf } from './scope-head.js';
import { faultOf, type ScopeSnapshot, type SnapshotScope } from './scope-snapshot.js';
import { VaultIncidents } from './vault-incidents.service.js';

/** A row with a value or, of a deleted secret, without. */
export interface LoadedRow {
  id: string;
  key: string;
  version: number;
  sealed: boolean;
  ciphertext: Buffer | null;
}

export type LoadedScope = ScopeSnapshot<LoadedRow>;

/** One statement, so that a scope and its rows are of one moment. */
const LOAD = `
  SELECT sc.scope, sc.kek_id AS kekId, sc.wrapped_seed AS wrappedSeed, sc.generation, sc.epoch,
         sc.version_floor AS versionFloor, sc.head,
         s.id, s.key_name AS keyName, s.version, s.sealed, s.ciphertext
    FROM vault_scopes sc LEFT JOIN vault_secrets s ON s.scope = sc.scope
   WHERE sc.scope IN (?) ORDER BY sc.scope, s.key_name`;

type Row = Omit<SnapshotScope, 'epoch'> &
  Omit<LoadedRow, 'id' | 'key' | 'sealed'> & {
    epoch: string | number;
    id: string | null;
    keyName: string;
    sealed: number;
  };

/** Reads scopes and refuses those that are not as the platform left them. */
@Injectable()
export class ScopeLoader {
  constructor(
    private readonly database: Database,
    private readonly keys: VaultKeys,
    private readonly anchor: VaultAnchor,
    private readonly incidents: VaultIncidents,
  ) {}

  /**
   * The scopes by name, as they are now; an error in the place of one that is refused. Names without secrets are missing.
   */
  async load(names: readonly string[]): Promise<Map<string, LoadedScope | Error>> {
    if (names.length === 0) return new Map();
    const floors = this.anchor.floors(names);
    const found = snapshotsOf(await this.database.manager.query<Row[]>(LOAD, [names]));
    const answers = new Map<string, LoadedScope | Error>();
    for (const [index, name] of names.entries()) {
      const answer = await this.judge(name, found.get(name), floors[index]!);
      if (answer) answers.set(name, answer);
    }
    return answers;
  }

  /** The value of a row, or an error when it does not open. */
  async open({ scope }: LoadedScope, row: LoadedRow): Promise<Buffer> {
    try {
      return openValue(await this.keys.seed(scope), placeOf(scope, row), row.ciphertext!);
    } catch (error) {
      if (error instanceof WrongKey) throw await this.incidents.refuse(scope.scope, 'WRAPPED_KEY');
      if (error instanceof BrokenCiphertext) throw await this.incidents.refuse(scope.scope, 'CIPHERTEXT');
      throw error;
    }
  }

  private async judge(
    name: string,
    found: LoadedScope | undefined,
    floor: number,
  ): Promise<LoadedScope | Error | null> {
    if (!found)
      return floor > 0 && (await this.ownerStands(name)) ? this.incidents.refuse(name, 'EPOCH_ROLLBACK') : null;
    let headKey;
    try {
      headKey = await this.keys.platformKey('head');
    } catch (error) {
      if (error instanceof WrongKey) return this.incidents.refuse(name, 'WRAPPED_KEY');
      throw error;
    }
    const fault = faultOf(headKey, found, floor);
    if (fault) return this.incidents.refuse(name, fault);
    // Whoever committed it may have died before it was noted.
    if (found.scope.epoch > floor) await this.anchor.raise(name, found.scope.epoch);
    return found;
  }

  /** The secrets of a service that is being deleted are gone for good reason. */
  private async ownerStands(name: string): Promise<boolean> {
    const [, id] = name.split(':');
    const [row] = await this.database.manager.query<{ found: unknown }[]>(
      `SELECT 1 AS found FROM servers WHERE id = ? AND status <> 'DELETING'
        UNION SELECT 1 FROM accounts WHERE id = ?`,
      [id, id],
    );
    return row !== undefined;
  }
}

function snapshotsOf(rows: Row[]): Map<string, LoadedScope> {
  const scopes = new Map<string, LoadedScope>();
  for (const row of rows) {
    const { scope: name, kekId, wrappedSeed, generation, versionFloor, head, id, keyName, version, ciphertext } = row;
    let snapshot = scopes.get(name);
    if (!snapshot) {
      const scope = { scope: name, kekId, wrappedSeed, generation, epoch: Number(row.epoch), versionFloor, head };
      scopes.set(name, (snapshot = { scope, rows: [] }));
    }
    if (id !== null) snapshot.rows.push({ id, key: keyName, version, sealed: row.sealed === 1, ciphertext });
  }
  return scopes;
}
