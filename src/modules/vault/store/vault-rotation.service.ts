import { Injectable } from '@nestjs/common';
import { Not, MoreThan } from 'typeorm';
import { openValue, sealValue } from '../../../platform/crypto/value-cipher.js';
import { Database } from '../../../platform/database/database.js';
import { VaultKey } from '../keys/vault-key.entity.js';
import { VaultKeys } from '../keys/vault-keys.service.js';
import { ScopeEditor } from './scope-editor.service.js';
import { placeOf } from './scope-head.js';
import { VaultScope } from './vault-scope.entity.js';
import { VaultSecret } from './vault-secret.entity.js';

const BATCH = 100;

export interface Rewrapped {
  /** Keys that were wrapped anew. */
  rewrapped: number;
  /** What is still wrapped by another key: 0 when the one before may go. */
  remaining: number;
  currentKey: string;
}

/** Brings what is stored over to new keys, while it is being read. Broken off at any point, it goes on where it was. */
@Injectable()
export class VaultRotation {
  constructor(
    private readonly database: Database,
    private readonly keys: VaultKeys,
    private readonly editor: ScopeEditor,
  ) {}

  /** Wraps all that another key of the provider has wrapped by its current one. No value is touched. */
  async rewrap(progress: (done: number) => void = () => undefined): Promise<Rewrapped> {
    const { manager } = this.database;
    const currentKey = await this.keys.currentKeyId();
    let rewrapped = 0;
    for (const key of await manager.findBy(VaultKey, { kekId: Not(currentKey) })) {
      const { keyId, blob } = await this.keys.rewrapPlatformKey(key);
      const { name, kekId } = key;
      rewrapped += (await manager.update(VaultKey, { name, kekId }, { kekId: keyId, wrapped: blob })).affected ?? 0;
    }
    for (let after = ''; ;) {
      const scopes = await manager.find(VaultScope, {
        where: { kekId: Not(currentKey), scope: MoreThan(after) },
        order: { scope: 'ASC' },
        take: BATCH,
      });
      if (scopes.length === 0) break;
      for (const row of scopes) {
        const { keyId, blob } = await this.keys.rewrapSeed(row);
        // Not when somebody gave it another seed, or wrapped it, in the meantime.
        const { scope, kekId, generation } = row;
        const changed = { kekId: keyId, wrappedSeed: blob };
        rewrapped += (await manager.update(VaultScope, { scope, kekId, generation }, changed)).affected ?? 0;
      }
      after = scopes.at(-1)!.scope;
      progress(rewrapped);
    }
    return { rewrapped, remaining: await this.notWrappedBy(currentKey), currentKey };
  }

  /** How many keys are wrapped by another key of the provider than this one. */
  async notWrappedBy(keyId: string): Promise<number> {
    const { manager } = this.database;
    const where = { kekId: Not(keyId) };
    return (await manager.countBy(VaultScope, where)) + (await manager.countBy(VaultKey, where));
  }

  /** How many keys are wrapped by this key of the provider. */
  async wrappedBy(keyId: string): Promise<number> {
    const { manager } = this.database;
    return (await manager.countBy(VaultScope, { kekId: keyId })) + (await manager.countBy(VaultKey, { kekId: keyId }));
  }

  /** Gives every scope another seed: its values are encrypted anew, in one transaction. */
  async reseed(progress: (done: number) => void = () => undefined): Promise<number> {
    const { manager } = this.database;
    let done = 0;
    for (let after = ''; ;) {
      const scopes = await manager.find(VaultScope, {
        where: { scope: MoreThan(after) },
        order: { scope: 'ASC' },
        take: BATCH,
      });
      if (scopes.length === 0) return done;
      for (const scope of scopes) await this.reseedOne(scope);
      done += scopes.length;
      after = scopes.at(-1)!.scope;
      progress(done);
    }
  }

  private async reseedOne(known: VaultScope): Promise<void> {
    const { accountId, serverId, generation } = known;
    // Before the transaction, which waits for nobody.
    const next = await this.keys.newSeed(known.scope, generation + 1);
    await this.editor.edit({ accountId, serverId }, async ({ tx, scope, rows, seed }) => {
      if (scope.generation !== generation) return { changed: false, result: undefined };
      const old = { scope: scope.scope, generation };
      const { kekId, wrappedSeed } = next;
      Object.assign(scope, { generation: next.generation, kekId, wrappedSeed });
      for (const row of rows) {
        if (row.ciphertext === null) continue;
        const value = openValue(seed, placeOf(old, row), row.ciphertext);
        row.ciphertext = sealValue(next.seed, placeOf(scope, row), value);
        value.fill(0);
        await tx.manager.update(VaultSecret, { id: row.id }, { ciphertext: row.ciphertext });
      }
      return { changed: true, result: undefined };
    });
  }
}
