import type { Config } from '../config/config.js';
import { loadConfig } from '../config/config.js';
import type { VaultAcceptance } from '../modules/vault/store/vault-acceptance.service.js';
import type { VaultRotation } from '../modules/vault/store/vault-rotation.service.js';
import { filesOfUp, withDatabase } from './context.js';

/** What operators do with the vault. */
export interface OperatorVault {
  rotation: VaultRotation;
  acceptance: VaultAcceptance;
  incidents(): Promise<Record<string, unknown>[]>;
}

const SHOWN_INCIDENTS = 200;

/** The settings, with the files of the `npm run up` in this folder where none are named. */
export function vaultSettings(): Config {
  const config = loadConfig();
  const { masterKeyFile, vaultAnchorFile } = filesOfUp();
  if (config.databaseUrl === undefined) {
    config.masterKeyFile ??= masterKeyFile;
    config.vaultAnchorFile ??= vaultAnchorFile;
  }
  return config;
}

/** Opens the vault's keys and tables for one command. */
export async function withVault<T>(work: (vault: OperatorVault) => Promise<T>): Promise<T> {
  const [
    { ENTITIES },
    { EventRecorder },
    { VaultKeys },
    { VaultAnchor },
    { ScopeEditor },
    { VaultIncidents },
    { VaultIncident },
    { VaultRotation },
    { VaultAcceptance },
    { ServerDirectory },
    { createKeyProvider },
    { createLogger },
    { metrics },
    { pino },
  ] = await Promise.all([
    import('../modules/entities.js'),
    import('../platform/events/event-recorder.js'),
    import('../modules/vault/keys/vault-keys.service.js'),
    import('../modules/vault/vault-anchor.service.js'),
    import('../modules/vault/store/scope-editor.service.js'),
    import('../modules/vault/store/vault-incidents.service.js'),
    import('../modules/vault/store/vault-incident.entity.js'),
    import('../modules/vault/store/vault-rotation.service.js'),
    import('../modules/vault/store/vault-acceptance.service.js'),
    import('../modules/servers/server-directory.service.js'),
    import('../platform/crypto/key-provider.factory.js'),
    import('../platform/observability/logger.js'),
    import('../platform/observability/metrics.js'),
    import('pino'),
  ]);
  const config = vaultSettings();
  const provider = await createKeyProvider(config);
  // Standard output is for what was asked.
  const log = createLogger({ logLevel: 'warn' }, pino.destination({ fd: 2, sync: true }));
  return withDatabase(ENTITIES, (database) => {
    const keys = new VaultKeys(database, provider);
    const anchor = new VaultAnchor(config, log);
    const incidents = new VaultIncidents(database, log, metrics);
    const editor = new ScopeEditor(database, keys, anchor, incidents, new ServerDirectory(database, config));
    return work({
      rotation: new VaultRotation(database, keys, editor),
      acceptance: new VaultAcceptance(database, keys, anchor, new EventRecorder(database), log),
      incidents: async () => {
        const rows = await database.manager.find(VaultIncident, { order: { id: 'DESC' }, take: SHOWN_INCIDENTS });
        return rows.map((row) => ({ ...row }));
      },
    });
  });
}
