import { Injectable } from '@nestjs/common';
import { In, IsNull } from 'typeorm';
import type { Principal } from '../../../platform/auth/principal.js';
import { openValue, sealValue } from '../../../platform/crypto/value-cipher.js';
import { Database, type Tx } from '../../../platform/database/database.js';
import { notFound, quotaExceeded } from '../../../platform/errors/domain-error.js';
import { actorOf, EventRecorder } from '../../../platform/events/event-recorder.js';
import { newId } from '../../../platform/ids/id.js';
import { MAX_REMEMBERED, MAX_SCOPE_BYTES, MAX_SECRETS } from '../vault-rules.js';
import { ScopeEditor, type ScopeEdit } from './scope-editor.service.js';
import { fingerprintOf, placeOf } from './scope-head.js';
import { NameBudget } from './name-budget.service.js';
import { scopeOf, type ScopeOwner } from './scope-name.js';
import { VaultSecret } from './vault-secret.entity.js';

export interface NewSecret {
  key: string;
  value: string;
  sealed: boolean;
  /** Undefined leaves it as it was. */
  note?: string | null | undefined;
  expiresAt?: string | null | undefined;
}

/** Everything about a secret but its value. */
export type SecretRow = Omit<VaultSecret, 'ciphertext'>;

/** Making, replacing, sealing and deleting secrets. */
@Injectable()
export class VaultStore {
  constructor(
    private readonly database: Database,
    private readonly editor: ScopeEditor,
    private readonly events: EventRecorder,
    private readonly names: NameBudget,
  ) {}

  async put(owner: ScopeOwner, caller: Principal, wanted: NewSecret): Promise<{ secret: SecretRow; isNew: boolean }> {
    await this.mustAfford(owner, wanted.key);
    const value = Buffer.from(wanted.value, 'utf8');
    const done = this.editor.edit(owner, async (edit) => {
      const { tx, rows } = edit;
      const before = rows.find(({ key }) => key === wanted.key);
      mustFit(rows, before, value.length);
      const secret = replaced(edit, before, wanted, value);
      if (before) {
        await tx.manager.update(VaultSecret, { id: before.id }, secret);
        rows.splice(rows.indexOf(before), 1, secret);
      } else {
        await tx.manager.insert(VaultSecret, secret);
        rows.push(secret);
      }
      const isNew = before?.ciphertext == null;
      await this.record(tx, owner, caller, 'put', { key: wanted.key, sealed: wanted.sealed, new: isNew });
      return { changed: true, result: { secret, isNew } };
    });
    return done.finally(() => value.fill(0));
  }

  delete(owner: ScopeOwner, caller: Principal, id: string): Promise<void> {
    return this.editor.edit(owner, async ({ tx, scope, rows }) => {
      const secret = requireSecret(rows, id);
      const deletedAt = new Date();
      const gone = { ciphertext: null, fingerprint: '', size: 0, note: null, expiresAt: null, deletedAt };
      Object.assign(secret, gone, { sealed: true, updatedAt: deletedAt });
      await tx.manager.update(VaultSecret, { id }, { ...gone, sealed: true, updatedAt: deletedAt });
      const remembered = rows.filter(({ ciphertext }) => ciphertext === null);
      if (remembered.length > MAX_REMEMBERED) {
        await tx.manager.delete(VaultSecret, { id: In(remembered.map((row) => row.id)) });
        for (const row of remembered) rows.splice(rows.indexOf(row), 1);
        scope.versionFloor = Math.max(scope.versionFloor, ...remembered.map(({ version }) => version));
      }
      await this.record(tx, owner, caller, 'delete', { key: secret.key });
      return { changed: true, result: undefined };
    });
  }

  /** One way: the same value, which from now on nobody is shown. */
  seal(owner: ScopeOwner, caller: Principal, id: string): Promise<SecretRow> {
    return this.editor.edit(owner, async ({ tx, scope, rows, seed }) => {
      const secret = requireSecret(rows, id);
      if (secret.sealed) return { changed: false, result: secret };
      const value = openValue(seed, placeOf(scope, secret), secret.ciphertext!);
      Object.assign(secret, { sealed: true, version: secret.version + 1, updatedAt: new Date() });
      secret.ciphertext = sealValue(seed, placeOf(scope, secret), value);
      value.fill(0);
      const { sealed, version, ciphertext, updatedAt } = secret;
      await tx.manager.update(VaultSecret, { id }, { sealed, version, ciphertext, updatedAt });
      await this.record(tx, owner, caller, 'seal', { key: secret.key });
      return { changed: true, result: secret };
    });
  }

  /** Without values, sorted by key; those of one name by scope. */
  async list(scopes: readonly string[]): Promise<SecretRow[]> {
    return this.database.manager
      .createQueryBuilder(VaultSecret, 's')
      .select(LISTED.map((column) => `s.${column}`))
      .where('s.scope IN (:...scopes)', { scopes })
      .andWhere('s.deletedAt IS NULL')
      .orderBy('s.key')
      .addOrderBy('s.scope')
      .getMany();
  }

  /** Asked before the scope's turn, so that nobody waits for it: two who make one name at once both pay. */
  private async mustAfford(owner: ScopeOwner, key: string): Promise<void> {
    const known = { scope: scopeOf(owner), key, deletedAt: IsNull() };
    if (!(await this.database.manager.existsBy(VaultSecret, known))) await this.names.spend(owner.accountId);
  }

  private async record(
    tx: Tx,
    { accountId, serverId }: ScopeOwner,
    caller: Principal,
    verb: string,
    properties: object,
  ): Promise<void> {
    const [event, resourceId] =
      serverId === null ? [`user:vault.${verb}`, accountId] : [`server:vault.${verb}`, serverId];
    await this.events.record(tx, { accountId, resourceId, event, properties, ...actorOf(caller) });
  }
}

const LISTED = [
  'id',
  'scope',
  'key',
  'version',
  'sealed',
  'fingerprint',
  'size',
  'note',
  'expiresAt',
  'lastReadAt',
  'createdAt',
  'updatedAt',
] as const satisfies (keyof VaultSecret)[];

function requireSecret(rows: readonly VaultSecret[], id: string): VaultSecret {
  const secret = rows.find((row) => row.id === id && row.ciphertext !== null);
  if (!secret) throw notFound();
  return secret;
}

function mustFit(rows: readonly VaultSecret[], before: VaultSecret | undefined, bytes: number): void {
  const others = rows.filter((row) => row !== before && row.ciphertext !== null);
  if (others.length + 1 > MAX_SECRETS)
    throw quotaExceeded({ name: 'secrets', allowed: MAX_SECRETS, used: others.length, requested: 1 });
  const used = others.reduce((sum, { size }) => sum + size, 0);
  if (used + bytes > MAX_SCOPE_BYTES)
    throw quotaExceeded({ name: 'secretBytes', allowed: MAX_SCOPE_BYTES, used, requested: bytes });
}

/** The row as it is to be. A key that comes back has a new id, and goes on where its versions ended. */
function replaced(edit: ScopeEdit, before: VaultSecret | undefined, wanted: NewSecret, value: Buffer): VaultSecret {
  const { tx, scope, seed, fingerprintKey } = edit;
  const now = new Date();
  const kept = before?.ciphertext == null ? null : before;
  const secret = tx.manager.create(VaultSecret, {
    id: kept?.id ?? newId('sec'),
    scope: scope.scope,
    key: wanted.key,
    version: (before?.version ?? scope.versionFloor) + 1,
    sealed: wanted.sealed,
    fingerprint: fingerprintOf(fingerprintKey, scope.scope, wanted.key, value),
    size: value.length,
    note: wanted.note === undefined ? (kept?.note ?? null) : wanted.note,
    expiresAt: wanted.expiresAt === undefined ? (kept?.expiresAt ?? null) : wanted.expiresAt,
    weekReminded: false,
    dayReminded: false,
    valueSetAt: now,
    lastReadAt: kept?.lastReadAt ?? null,
    deletedAt: null,
    createdAt: kept?.createdAt ?? now,
    updatedAt: now,
  });
  secret.ciphertext = sealValue(seed, placeOf(scope, secret), value);
  return secret;
}
