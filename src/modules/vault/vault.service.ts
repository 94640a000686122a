import { Injectable } from '@nestjs/common';
import type { Principal } from '../../platform/auth/principal.js';
import { Database } from '../../platform/database/database.js';
import { conflict, notFound } from '../../platform/errors/domain-error.js';
import { actorOf, EventRecorder } from '../../platform/events/event-recorder.js';
import { ServerDirectory } from '../servers/server-directory.service.js';
import type { PutSecretDto, SecretReadView, SecretValueView, SecretView } from './dto/vault.dto.js';
import { ReadLog } from './reads/read-log.service.js';
import { ConsultableSecrets } from './store/consultable-secrets.service.js';
import { LastReads } from './store/last-reads.service.js';
import { accountScope, scopeOf, serverScope, type ScopeOwner } from './store/scope-name.js';
import { VaultStore, type SecretRow } from './store/vault-store.service.js';

/** Services that are given a secret of their account: those that have none of that name themselves. */
const READERS = `
  SELECT id FROM servers s
   WHERE account_id = ? AND status <> 'DELETING' AND NOT EXISTS (
     SELECT 1 FROM vault_secrets
      WHERE scope = CONCAT('srv:', s.id) AND key_name = ? AND deleted_at IS NULL)`;

/** What account holders do with their secrets: those of one service, or, without one, those of the whole account. */
@Injectable()
export class VaultService {
  constructor(
    private readonly database: Database,
    private readonly servers: ServerDirectory,
    private readonly store: VaultStore,
    private readonly consultable: ConsultableSecrets,
    private readonly readLog: ReadLog,
    private readonly lastReads: LastReads,
    private readonly events: EventRecorder,
  ) {}

  /** A service's list also has those of the account that it reads. */
  async list(caller: Principal, serverId: string | null): Promise<SecretView[]> {
    await this.mustOwn(caller, serverId);
    const account = accountScope(caller.accountId);
    const rows = await this.store.list(serverId === null ? [account] : [serverScope(serverId), account]);
    const own = new Set(rows.filter(({ scope }) => scope !== account).map(({ key }) => key));
    return rows.filter(({ scope, key }) => scope !== account || !own.has(key)).map(viewOf);
  }

  async put(
    caller: Principal,
    serverId: string | null,
    { key, value, sealed = true, note, expiresAt }: PutSecretDto,
  ): Promise<{ secret: SecretView; isNew: boolean }> {
    await this.mustOwn(caller, serverId);
    const wanted = { key, value, sealed, note, expiresAt };
    const { secret, isNew } = await this.store.put(ownerOf(caller, serverId), caller, wanted);
    return { secret: viewOf(secret), isNew };
  }

  async delete(caller: Principal, serverId: string | null, id: string): Promise<void> {
    await this.mustOwn(caller, serverId);
    await this.mustHave(ownerOf(caller, serverId), id);
    await this.store.delete(ownerOf(caller, serverId), caller, id);
  }

  async seal(caller: Principal, serverId: string | null, id: string): Promise<SecretView> {
    await this.mustOwn(caller, serverId);
    await this.mustHave(ownerOf(caller, serverId), id);
    return viewOf(await this.store.seal(ownerOf(caller, serverId), caller, id));
  }

  /**
   * Shows a consultable value, for the panel. It is a read like any other, and recorded before it is shown; that of an
   * account's secret in the log of each service that reads it.
   */
  async reveal(caller: Principal, serverId: string | null, id: string): Promise<SecretValueView> {
    await this.mustOwn(caller, serverId);
    const scope = scopeOf(ownerOf(caller, serverId));
    const found = await this.consultable.find(scope, id);
    if (found === null) throw notFound();
    if (found === 'sealed') throw conflict('secret_sealed', 'A sealed value is shown to nobody.');
    const { key } = found;
    const { accountId, address } = caller;
    await this.database.transaction((tx) =>
      this.events.record(tx, {
        accountId,
        resourceId: serverId ?? accountId,
        event: serverId === null ? 'user:vault.reveal' : 'server:vault.reveal',
        properties: { key },
        ...actorOf(caller),
      }),
    );
    const readers = serverId === null ? await this.readersOf(accountId, key) : [serverId];
    const read = { via: 'panel', address, refused: null, keys: [key] } as const;
    await this.readLog.recordAll(readers.map((reader) => ({ serverId: reader, accountId, ...read })));
    const value = await this.consultable.open(found);
    this.lastReads.note([id]);
    return { id, key, value };
  }

  async access(caller: Principal, serverId: string): Promise<SecretReadView[]> {
    await this.mustOwn(caller, serverId);
    const reads = await this.readLog.latest(serverId);
    return reads.map(({ at, via, address, names, refused, repeated }) => ({
      at,
      via,
      address,
      keys: names?.split(',') ?? [],
      refused: refused !== null,
      reason: repeated > 1 ? `${refused}, ${repeated} times` : refused,
    }));
  }

  private async readersOf(accountId: string, key: string): Promise<string[]> {
    const rows = await this.database.manager.query<{ id: string }[]>(READERS, [accountId, key]);
    return rows.map(({ id }) => id);
  }

  private async mustOwn({ accountId }: Principal, serverId: string | null): Promise<void> {
    if (serverId !== null) await this.servers.mustOwn({ manager: this.database.manager }, accountId, serverId);
  }

  /** Looked at before anybody waits for a turn: an id that is nothing makes nothing. */
  private async mustHave(owner: ScopeOwner, id: string): Promise<void> {
    const rows = await this.store.list([scopeOf(owner)]);
    if (!rows.some((row) => row.id === id)) throw notFound();
  }
}

function ownerOf({ accountId }: Principal, serverId: string | null): ScopeOwner {
  return { accountId, serverId };
}

function viewOf(row: SecretRow): SecretView {
  const { id, key, scope, sealed, note, fingerprint, size, version, expiresAt, lastReadAt, createdAt, updatedAt } = row;
  return {
    id,
    key,
    scope: scope.startsWith('srv:') ? 'container' : 'account',
    sealed,
    note,
    fingerprint,
    size,
    version,
    expiresAt,
    lastReadAt,
    createdAt,
    updatedAt,
  };
}
