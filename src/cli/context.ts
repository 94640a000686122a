import { readFileSync } from 'node:fs';
import { type Config, loadConfig } from '../config/config.js';
import type { DataSource } from 'typeorm';
import type { Engine } from '../drivers/engine/engine.js';
import type { DatabaseSettings } from '../platform/database/data-source.js';
import type { Database } from '../platform/database/database.js';

const UP_FILE = '.berth/up.json';

/** Where the platform's database is: as the settings say, or else as the `npm run up` in this folder has it. */
function databaseUrl(config: Config): string {
  return config.databaseUrl ?? filesOfUp().databaseUrl ?? config.require('databaseUrl');
}

interface FilesOfUp {
  databaseUrl?: string;
  masterKeyFile?: string;
  vaultAnchorFile?: string;
  passwordKeyFile?: string;
}

/** What the `npm run up` in this folder has; nothing where there was none. */
export function filesOfUp(): FilesOfUp {
  try {
    return JSON.parse(readFileSync(UP_FILE, 'utf8')) as FilesOfUp;
  } catch {
    return {};
  }
}

/** Opens the platform's database for one command and closes it when that has ended. */
export async function withDataSource<T>(
  entities: DatabaseSettings['entities'],
  work: (dataSource: DataSource) => Promise<T>,
): Promise<T> {
  const { createDataSource } = await import('../platform/database/data-source.js');
  const dataSource = createDataSource({ url: databaseUrl(loadConfig()), poolSize: 2, entities });
  await dataSource.initialize();
  try {
    return await work(dataSource);
  } finally {
    await dataSource.destroy();
  }
}

export async function withDatabase<T>(
  entities: DatabaseSettings['entities'],
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const { Database } = await import('../platform/database/database.js');
  return withDataSource(entities, (dataSource) => work(new Database(dataSource)));
}

/** Opens the engine for one command. */
export async function withEngine<T>(work: (engine: Engine, config: Config) => Promise<T>): Promise<T> {
  const { sharedEngine } = await import('../roles/engine.module.js');
  const config = loadConfig();
  const engine = sharedEngine(config);
  try {
    return await work(engine, config);
  } finally {
    await engine.close();
  }
}
