import type { INestApplicationContext } from '@nestjs/common';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Config } from '../../../src/config/config.js';
import { VaultKeys } from '../../../src/modules/vault/keys/vault-keys.service.js';
import { ScopeEditor } from '../../../src/modules/vault/store/scope-editor.service.js';
import { SecretsReader } from '../../../src/modules/vault/store/secrets-reader.service.js';
import { VaultAcceptance } from '../../../src/modules/vault/store/vault-acceptance.service.js';
import { VaultRotation } from '../../../src/modules/vault/store/vault-rotation.service.js';
import { VaultAnchor } from '../../../src/modules/vault/vault-anchor.service.js';
import { VaultModule } from '../../../src/modules/vault/vault.module.js';
import { VaultService } from '../../../src/modules/vault/vault.service.js';
import type { Principal } from '../../../src/platform/auth/principal.js';
import { newKey, writeKeyring, type Keyring } from '../../../src/platform/crypto/key-providers/keyring.js';
import { LocalKeyProvider } from '../../../src/platform/crypto/key-providers/local-key-provider.js';
import { KeyProvider } from '../../../src/platform/crypto/key-provider.js';
import { Database } from '../../../src/platform/database/database.js';
import { EventRecorder } from '../../../src/platform/events/event-recorder.js';
import { newId } from '../../../src/platform/ids/id.js';
import { AppLogger } from '../../../src/platform/observability/logger.js';
import { ServersApp } from '../servers/servers-app.js';

/** The vault on a database and a keyring of its own, and services that only exist as rows. */
export class VaultApp {
  private constructor(
    readonly servers: ServersApp,
    private readonly folder: string,
    readonly firstKey: Keyring['keys'][number],
    readonly caller: Principal,
  ) {}

  static async start(settings: Record<string, string> = {}): Promise<VaultApp> {
    const folder = mkdtempSync(join(tmpdir(), 'berth-vault-'));
    const key = newKey();
    writeKeyring(join(folder, 'keyring'), [key]);
    const servers = await ServersApp.start(settings, [VaultModule], [providerOf(folder)]);
    return new VaultApp(servers, folder, key, await servers.makeCaller('vaulted'));
  }

  /** Another process of the control plane: other caches, and its own anchor where one is named. */
  another(settings: Record<string, string> = {}): Promise<INestApplicationContext> {
    return this.servers.startApi(settings, [VaultModule], [providerOf(this.folder)]);
  }

  get keyring(): string {
    return join(this.folder, 'keyring');
  }

  get api(): INestApplicationContext {
    return this.servers.api;
  }

  get vault(): VaultService {
    return this.api.get(VaultService);
  }

  get rotation(): VaultRotation {
    const get = this.api.get.bind(this.api);
    return new VaultRotation(get(Database), get(VaultKeys), get(ScopeEditor));
  }

  get acceptance(): VaultAcceptance {
    const get = this.api.get.bind(this.api);
    return new VaultAcceptance(get(Database), get(VaultKeys), get(VaultAnchor), get(EventRecorder), get(AppLogger));
  }

  /** A row is all the vault wants of a service. */
  async makeServer(status = 'RUNNING'): Promise<string> {
    const id = newId('srv');
    await this.query(
      `INSERT INTO servers SELECT ?, UUID(), ?, id, 'vaulted', '', ?, 'nodejs', 'nodejs', 128, 512, 25, 1,
         UTC_TIMESTAMP(), NULL, UTC_TIMESTAMP(), UTC_TIMESTAMP() FROM nodes LIMIT 1`,
      [id, this.caller.accountId, status],
    );
    return id;
  }

  put(serverId: string | null, key: string, value: string, more: object = {}): ReturnType<VaultService['put']> {
    return this.vault.put(this.caller, serverId, { key, value, ...more });
  }

  /** What the service reads, by way of this process or another. */
  async read(serverId: string, api: INestApplicationContext = this.api): Promise<Record<string, string>> {
    const { accountId } = this.caller;
    const opened = await api.get(SecretsReader).of({ serverId, accountId });
    const values = Object.fromEntries(opened.secrets.map(({ key, value }) => [key, value.toString()]));
    opened.release();
    return values;
  }

  /** Why its secrets are refused: the kind of the incident. */
  async fault(serverId: string, api: INestApplicationContext = this.api): Promise<string | null> {
    try {
      await this.read(serverId, api);
      return null;
    } catch (error) {
      const { incident } = error as { incident?: string };
      if (incident === undefined) throw error;
      const [row] = await this.query<{ kind: string }[]>('SELECT kind FROM vault_incidents WHERE id = ?', [incident]);
      return row!.kind;
    }
  }

  query<T = Record<string, unknown>[]>(sql: string, values: unknown[] = []): Promise<T> {
    return this.servers.database.query<T>(sql, values);
  }

  /** Puts the rows of a table back as they were: a backup. */
  async copy(...tables: string[]): Promise<() => Promise<void>> {
    const kept = await Promise.all(tables.map((table) => this.query(`SELECT * FROM ${table}`)));
    return async () => {
      for (const table of [...tables].reverse()) await this.query(`DELETE FROM ${table}`);
      for (const [index, table] of tables.entries()) for (const row of kept[index]!) await this.insert(table, row);
    };
  }

  /** In the place of a row of the same key, if there is one. */
  async insert(table: string, row: Record<string, unknown>): Promise<void> {
    const columns = Object.keys(row);
    const marks = columns.map(() => '?').join(', ');
    await this.query(`REPLACE INTO ${table} (${columns.join(', ')}) VALUES (${marks})`, Object.values(row));
  }

  get anchorFile(): string {
    return this.api.get(Config).vaultAnchorFile!;
  }

  async close(): Promise<void> {
    await this.servers.close();
    rmSync(this.folder, { recursive: true });
  }
}

function providerOf(folder: string): { provide: typeof KeyProvider; useFactory: () => KeyProvider } {
  return { provide: KeyProvider, useFactory: () => new LocalKeyProvider(join(folder, 'keyring')) };
}
