import { Injectable } from '@nestjs/common';
import { randomBytes, type KeyObject } from 'node:crypto';
import { KeyProvider, WrongKey, type KeyContext, type WrappedKey } from '../../../platform/crypto/key-provider.js';
import { SEED_BYTES, secretKeyOf } from '../../../platform/crypto/value-cipher.js';
import { Database } from '../../../platform/database/database.js';
import { VaultScope } from '../store/vault-scope.entity.js';
import { VaultKey, type VaultKeyName } from './vault-key.entity.js';

const KEPT_SEEDS = 1000;
const KEPT_MS = 300_000;

export type WrappedSeed = Pick<VaultScope, 'scope' | 'generation' | 'kekId' | 'wrappedSeed'>;

interface KeptSeed {
  seed: Promise<KeyObject>;
  until: number;
}

/**
 * The keys of the vault, opened. Seeds stay in memory for minutes, outside of the heap, so that the key provider is not asked
 * for every read. What is kept is known by the wrapped bytes themselves: other bytes are another key.
 */
@Injectable()
export class VaultKeys {
  private readonly seeds = new Map<string, KeptSeed>();
  private readonly platform = new Map<VaultKeyName, Promise<KeyObject>>();

  constructor(
    private readonly database: Database,
    private readonly provider: KeyProvider,
  ) {}

  /** Throws `WrongKey` when the wrapped seed is not this scope's. */
  seed(wrapped: WrappedSeed): Promise<KeyObject> {
    const name = nameOf(wrapped);
    const kept = this.seeds.get(name);
    this.seeds.delete(name);
    if (kept && kept.until > Date.now()) {
      this.seeds.set(name, kept);
      return kept.seed;
    }
    const seed = this.openSeed(wrapped);
    this.keep(name, seed);
    return seed;
  }

  async newSeed(scope: string, generation: number): Promise<WrappedSeed & { seed: KeyObject }> {
    const bytes = randomBytes(SEED_BYTES);
    const { keyId: kekId, blob: wrappedSeed } = await this.provider.wrap(bytes, seedContext(scope, generation));
    const seed = secretKeyOf(bytes);
    const wrapped = { scope, generation, kekId, wrappedSeed };
    this.keep(nameOf(wrapped), Promise.resolve(seed));
    return { ...wrapped, seed };
  }

  /** The same seed, wrapped by the provider's current key. */
  async rewrapSeed(wrapped: WrappedSeed): Promise<WrappedKey> {
    const { scope, generation, kekId, wrappedSeed } = wrapped;
    return this.rewrap({ keyId: kekId, blob: wrappedSeed }, seedContext(scope, generation));
  }

  rewrapPlatformKey({ name, kekId, wrapped }: VaultKey): Promise<WrappedKey> {
    return this.rewrap({ keyId: kekId, blob: wrapped }, platformContext(name));
  }

  currentKeyId(): Promise<string> {
    return this.provider.currentKeyId();
  }

  /** A key for all scopes, made when it is asked for the first time. */
  platformKey(name: VaultKeyName): Promise<KeyObject> {
    let key = this.platform.get(name);
    if (!key) {
      key = this.openPlatformKey(name);
      this.platform.set(name, key);
      key.catch(() => this.platform.delete(name));
    }
    return key;
  }

  private async openSeed({ scope, generation, kekId, wrappedSeed }: WrappedSeed): Promise<KeyObject> {
    const blob = { keyId: kekId, blob: wrappedSeed };
    return secretKeyOf(await this.provider.unwrap(blob, seedContext(scope, generation)));
  }

  private keep(name: string, seed: Promise<KeyObject>): void {
    this.seeds.set(name, { seed, until: Date.now() + KEPT_MS });
    if (this.seeds.size > KEPT_SEEDS) this.seeds.delete(this.seeds.keys().next().value!);
    seed.catch(() => this.seeds.delete(name));
  }

  private async openPlatformKey(name: VaultKeyName): Promise<KeyObject> {
    const { manager } = this.database;
    let row = await manager.findOneBy(VaultKey, { name });
    if (!row) {
      // Secrets without the key that their heads were made with: somebody took it away. A new one would hide that.
      if (await manager.existsBy(VaultScope, {})) throw new WrongKey();
      const bytes = randomBytes(SEED_BYTES);
      const { keyId: kekId, blob: wrapped } = await this.provider.wrap(bytes, platformContext(name));
      bytes.fill(0);
      // Another process may do the same at this moment: the first one's key is everybody's.
      await manager.query('INSERT IGNORE INTO vault_keys (name, kek_id, wrapped) VALUES (?, ?, ?)', [
        name,
        kekId,
        wrapped,
      ]);
      row = await manager.findOneByOrFail(VaultKey, { name });
    }
    const bytes = await this.provider.unwrap({ keyId: row.kekId, blob: row.wrapped }, platformContext(name));
    return secretKeyOf(bytes);
  }

  private async rewrap(wrapped: WrappedKey, context: KeyContext): Promise<WrappedKey> {
    const bytes = await this.provider.unwrap(wrapped, context);
    try {
      return await this.provider.wrap(bytes, context);
    } finally {
      bytes.fill(0);
    }
  }
}

function nameOf({ scope, generation, kekId, wrappedSeed }: WrappedSeed): string {
  return `${scope} ${generation} ${kekId} ${wrappedSeed.toString('base64')}`;
}

function seedContext(scope: string, generation: number): KeyContext {
  return { app: 'evault', v: '1', purpose: 'dek', scope, gen: String(generation) };
}

function platformContext(name: VaultKeyName): KeyContext {
  return { app: 'evault', v: '1', purpose: name };
}
