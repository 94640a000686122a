import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLE = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci';
const ASCII = 'CHARACTER SET ascii COLLATE ascii_bin';
const HASH = 'UNHEX(LEFT(SHA2(keys_served, 256), 32))';

/** The names of what was served are kept once, not in each entry of the read log. */
export class VaultKeyLists1763640080545 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS vault_key_lists (
        hash binary(16) NOT NULL,
        names text ${ASCII} NOT NULL,
        stored_at datetime(3) NOT NULL,
        PRIMARY KEY (hash)
      ) ${TABLE}`);
    await runner.query(
      `ALTER TABLE vault_reads
         ADD COLUMN IF NOT EXISTS key_list binary(16) NULL AFTER refused,
         ADD INDEX IF NOT EXISTS ix_vault_reads_key_list (key_list)`,
    );
    if (!(await runner.hasColumn('vault_reads', 'keys_served'))) return;
    await runner.query(
      `INSERT IGNORE INTO vault_key_lists (hash, names, stored_at)
         SELECT DISTINCT ${HASH}, keys_served, UTC_TIMESTAMP(3) FROM vault_reads WHERE keys_served <> ''`,
    );
    await runner.query(`UPDATE vault_reads SET key_list = ${HASH} WHERE keys_served <> ''`);
    await runner.query(
      `ALTER TABLE vault_reads
         ADD CONSTRAINT fk_vault_reads_key_list FOREIGN KEY IF NOT EXISTS (key_list) REFERENCES vault_key_lists (hash) ON DELETE NO ACTION ON UPDATE NO ACTION,
         DROP COLUMN keys_served`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      `ALTER TABLE vault_reads ADD COLUMN keys_served text ${ASCII} NOT NULL DEFAULT '' AFTER refused`,
    );
    await runner.query('ALTER TABLE vault_reads ALTER COLUMN keys_served DROP DEFAULT');
    await runner.query(
      'UPDATE vault_reads r JOIN vault_key_lists l ON l.hash = r.key_list SET r.keys_served = l.names',
    );
    await runner.query(
      `ALTER TABLE vault_reads
         DROP FOREIGN KEY fk_vault_reads_key_list, DROP INDEX ix_vault_reads_key_list, DROP COLUMN key_list`,
    );
    await runner.query('DROP TABLE vault_key_lists');
  }
}
