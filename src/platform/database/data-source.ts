import { DataSource, type DataSourceOptions, type EntitySchema } from 'typeorm';
import { fileURLToPath } from 'node:url';

type EntityClass = new (...args: never[]) => object;

export interface DatabaseSettings {
  url: string;
  poolSize: number;
  entities: (EntityClass | EntitySchema)[];
}

/** Where the built migrations stand, next to the built sources. */
const MIGRATIONS = fileURLToPath(new URL('../../../migrations/*.js', import.meta.url));

/**
 * Options of every connection, the migrations' included. A `null` or `undefined` in `where` throws: TypeORM would else drop
 * the condition and answer with the first row of the table.
 */
export function dataSourceOptions({ url, poolSize, entities }: DatabaseSettings): DataSourceOptions {
  return {
    type: 'mariadb',
    url: url.replace(/^mariadb:/, 'mysql:'),
    entities: entities as DataSourceOptions['entities'],
    migrations: [MIGRATIONS],
    migrationsTableName: 'schema_migrations',
    migrationsTransactionMode: 'each',
    synchronize: false,
    migrationsRun: false,
    timezone: 'Z',
    charset: 'utf8mb4_unicode_ci',
    supportBigNumbers: true,
    bigNumberStrings: false,
    poolSize,
    connectTimeout: 5000,
    invalidWhereValuesBehavior: { null: 'throw', undefined: 'throw' },
    logging: false,
    // TypeORM's own errors tell where a query comes from; the driver would note it for each that does not fail.
    extra: { waitForConnections: true, enableKeepAlive: true, trace: false },
  };
}

export function createDataSource(settings: DatabaseSettings): DataSource {
  return new DataSource(dataSourceOptions(settings));
}
