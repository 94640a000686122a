import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { DataSource, type MigrationInterface } from 'typeorm';
import { dataSourceOptions, type DatabaseSettings } from '../../src/platform/database/data-source.js';
import { Database } from '../../src/platform/database/database.js';
import { migrate } from '../../src/platform/database/migrate.js';
import { stack } from './stack.js';

const MIGRATIONS = join(import.meta.dirname, '..', '..', 'migrations');

/** A database of the test stack's server, made by the migrations and by nothing else. */
export class TestDatabase {
  private constructor(
    readonly url: string,
    private readonly dataSource: DataSource,
  ) {}

  /** Makes an empty one of its own for the spec file that asks; `drop` it at the end. */
  static async create(entities: DatabaseSettings['entities']): Promise<TestDatabase> {
    const name = `berth_test_${randomBytes(6).toString('hex')}`;
    await onServer(`CREATE DATABASE ${name} CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci`);
    const url = new URL(stack.env().DATABASE_URL ?? '');
    url.pathname = `/${name}`;
    const options = dataSourceOptions({ url: url.href, poolSize: 5, entities });
    const dataSource = new DataSource({ ...options, migrations: await migrationClasses() });
    await dataSource.initialize();
    await migrate(dataSource);
    return new TestDatabase(url.href, dataSource);
  }

  get database(): Database {
    return new Database(this.dataSource);
  }

  get source(): DataSource {
    return this.dataSource;
  }

  query<T = Record<string, unknown>[]>(sql: string, values: unknown[] = []): Promise<T> {
    return this.dataSource.query<T>(sql, values);
  }

  async drop(): Promise<void> {
    const { database } = this.dataSource.driver;
    await this.dataSource.destroy();
    await onServer(`DROP DATABASE ${database}`);
  }
}

async function onServer(statement: string): Promise<void> {
  const connection = await createConnection({ uri: stack.env().DATABASE_URL ?? '' });
  try {
    await connection.query(statement);
  } finally {
    await connection.end();
  }
}

async function migrationClasses(): Promise<(new () => MigrationInterface)[]> {
  const files = readdirSync(MIGRATIONS).filter((name) => name.endsWith('.ts'));
  const modules = await Promise.all(
    files.sort().map((name) => import(join(MIGRATIONS, name)) as Promise<Record<string, new () => MigrationInterface>>),
  );
  return modules.flatMap((module) => Object.values(module).filter((member) => typeof member === 'function'));
}
