import type { DataSource } from 'typeorm';

const LOCK = 'berth:migrate';
const LOCK_WAIT_SECONDS = 60;

/**
 * Applies the pending migrations and returns their names. Holds a named lock of the server, so that several processes
 * started together apply each of them once.
 */
export async function migrate(dataSource: DataSource): Promise<string[]> {
  const holder = dataSource.createQueryRunner();
  try {
    const [row] = (await holder.query('SELECT GET_LOCK(?, ?) AS held', [LOCK, LOCK_WAIT_SECONDS])) as {
      held: unknown;
    }[];
    if (Number(row?.held) !== 1) throw new Error('Another migration holds the lock; try again when it has ended.');
    const applied = await dataSource.runMigrations();
    return applied.map((migration) => migration.name);
  } finally {
    await holder.query('SELECT RELEASE_LOCK(?)', [LOCK]);
    await holder.release();
  }
}

/** Statements that would bring the migrated schema to what the entities say; none when both agree. */
export async function schemaDrift(dataSource: DataSource): Promise<string[]> {
  const log = await dataSource.driver.createSchemaBuilder().log();
  return log.upQueries.map((query) => query.query);
}
