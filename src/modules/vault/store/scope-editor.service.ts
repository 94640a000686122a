import { Injectable } from '@nestjs/common';
import type { KeyObject } from 'node:crypto';
import { Turns } from '../../../platform/batching/turns.js';
import { WrongKey } from '../../../platform/crypto/key-provider.js';
import { BrokenCiphertext } from '../../../platform/crypto/value-cipher.js';
import { Database, type Tx } from '../../../platform/database/database.js';
import { ServerDirectory } from '../../servers/server-directory.service.js';
import { VaultKeys } from '../keys/vault-keys.service.js';
import { VaultAnchor } from '../vault-anchor.service.js';
import { headOf } from './scope-head.js';
import { scopeOf, type ScopeOwner } from './scope-name.js';
import { faultOf, ScopeFault } from './scope-snapshot.js';
import type { IncidentKind } from './vault-incident.entity.js';
import { VaultIncidents } from './vault-incidents.service.js';
import { VaultScope } from './vault-scope.entity.js';
import { VaultSecret } from './vault-secret.entity.js';

/** A scope that nobody else changes for the length of a transaction. What is changed in `rows` goes into the new head. */
export interface ScopeEdit {
  tx: Tx;
  scope: VaultScope;
  rows: VaultSecret[];
  seed: KeyObject;
  fingerprintKey: KeyObject;
}

/** Whether the work changed anything: only then the epoch moves. */
export interface Edited<T> {
  changed: boolean;
  result: T;
}

const MAX_ATTEMPTS = 5;

/** Somebody gave the scope another seed in the meantime. */
class SeedChanged extends Error {}

/**
 * Changes scopes: one change after another, each on a state that was proven to be ours, each with a new epoch and head in the
 * transaction of the change itself.
 */
@Injectable()
export class ScopeEditor {
  private readonly turns = new Turns();

  constructor(
    private readonly database: Database,
    private readonly keys: VaultKeys,
    private readonly anchor: VaultAnchor,
    private readonly incidents: VaultIncidents,
    private readonly servers: ServerDirectory,
  ) {}

  /** Waiting for a turn holds no connection. Throws the 404 when the scope's owner is not (any more) what it says. */
  edit<T>(owner: ScopeOwner, work: (edit: ScopeEdit) => Promise<Edited<T>>): Promise<T> {
    const name = scopeOf(owner);
    return this.turns.take(name, async () => {
      try {
        return await this.attempt(name, owner, work);
      } catch (error) {
        const kind = kindOf(error);
        throw kind ? await this.incidents.refuse(name, kind) : error;
      }
    });
  }

  private async attempt<T>(name: string, owner: ScopeOwner, work: (edit: ScopeEdit) => Promise<Edited<T>>): Promise<T> {
    const [headKey, fingerprintKey] = await Promise.all([
      this.keys.platformKey('head'),
      this.keys.platformKey('fingerprint'),
    ]);
    for (let attempt = 1; ; attempt++) {
      const known = await this.require(name, owner, headKey);
      const seed = await this.keys.seed(known);
      const floor = this.anchor.floor(name);
      try {
        return await this.database.transaction(async (tx) => {
          await this.mustOwn(tx, owner);
          const scope = await this.lock(tx, name);
          if (scope?.generation !== known.generation) throw new SeedChanged();
          const rows = await tx.manager.find(VaultSecret, { where: { scope: name }, order: { key: 'ASC' } });
          const fault = faultOf(headKey, { scope, rows }, floor);
          if (fault) throw new ScopeFault(fault);
          const { changed, result } = await work({ tx, scope, rows, seed, fingerprintKey });
          if (changed) await this.close(tx, scope, rows, headKey);
          return result;
        });
      } catch (error) {
        if (!(error instanceof SeedChanged) || attempt >= MAX_ATTEMPTS) throw error;
      }
    }
  }

  /** The scope's row, made now if there is none. Key providers may be slow, so no transaction waits for them. */
  private async require(name: string, owner: ScopeOwner, headKey: KeyObject): Promise<VaultScope> {
    const { manager } = this.database;
    // Asked before the database is: another process may make the scope in between.
    const floor = this.anchor.floor(name);
    const found = await manager.findOneBy(VaultScope, { scope: name });
    if (found) return found;
    await this.database.transaction((tx) => this.mustOwn(tx, owner));
    if (floor > 0) throw new ScopeFault('EPOCH_ROLLBACK');
    const { kekId, wrappedSeed } = await this.keys.newSeed(name, 1);
    const { accountId, serverId } = owner;
    const empty = { scope: name, accountId, serverId, kekId, wrappedSeed, generation: 1, epoch: 0, versionFloor: 0 };
    const scope = { ...empty, head: headOf(headKey, empty, []), createdAt: new Date() };
    await this.database.transaction(async (tx) => {
      await this.mustOwn(tx, owner);
      // Another process may make it at this moment; then that one counts.
      await tx.manager.createQueryBuilder().insert().into(VaultScope).values(scope).orIgnore().execute();
    });
    return manager.findOneByOrFail(VaultScope, { scope: name });
  }

  private async mustOwn(tx: Tx, { accountId, serverId }: ScopeOwner): Promise<void> {
    if (serverId !== null) await this.servers.mustOwn(tx, accountId, serverId);
  }

  private lock(tx: Tx, scope: string): Promise<VaultScope | null> {
    return tx.manager.findOne(VaultScope, { where: { scope }, lock: { mode: 'pessimistic_write' } });
  }

  private async close(tx: Tx, scope: VaultScope, rows: VaultSecret[], headKey: KeyObject): Promise<void> {
    const { scope: name, generation, versionFloor, kekId, wrappedSeed } = scope;
    const epoch = scope.epoch + 1;
    const head = headOf(headKey, { scope: name, epoch, generation, versionFloor }, rows);
    const seed = { generation, kekId, wrappedSeed };
    await tx.manager.update(VaultScope, { scope: name }, { epoch, head, versionFloor, ...seed });
    tx.afterCommit(() => this.anchor.raise(name, epoch));
  }
}

function kindOf(error: unknown): IncidentKind | null {
  if (error instanceof ScopeFault) return error.kind;
  if (error instanceof WrongKey) return 'WRAPPED_KEY';
  return error instanceof BrokenCiphertext ? 'CIPHERTEXT' : null;
}
