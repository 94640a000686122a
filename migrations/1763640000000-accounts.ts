import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLE = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci';
const ASCII = 'CHARACTER SET ascii COLLATE ascii_bin';
const EXACT = 'CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin';

export class Accounts1763640000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS plans (
        id varchar(32) ${ASCII} NOT NULL,
        servers int NOT NULL,
        ram int NOT NULL,
        disk int NOT NULL,
        cpu int NOT NULL,
        \`databases\` int NOT NULL,
        backups int NOT NULL,
        buckets int NOT NULL,
        storage_bytes bigint NOT NULL,
        sites int NOT NULL,
        machines int NOT NULL,
        nocode_projects int NOT NULL,
        scans int NOT NULL,
        PRIMARY KEY (id)
      ) ${TABLE}`);
    await runner.query(`
      INSERT IGNORE INTO plans
        (id, servers, ram, disk, cpu, \`databases\`, backups, buckets, storage_bytes, sites, machines, nocode_projects, scans)
      VALUES
        ('free', 2, 1024, 5120, 200, 1, 2, 2, 1073741824, 2, 0, 3, 0),
        ('pro', 20, 32768, 204800, 2000, 20, 10, 20, 53687091200, 20, 10, 50, 100)`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS accounts (
        id char(30) ${ASCII} NOT NULL,
        username varchar(32) ${ASCII} NOT NULL,
        email varchar(254) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        plan_id varchar(32) ${ASCII} NOT NULL,
        status varchar(16) ${ASCII} NOT NULL,
        session_generation int NOT NULL DEFAULT 0,
        created_at datetime(3) NOT NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_accounts_username (username),
        UNIQUE INDEX uq_accounts_email (email),
        INDEX ix_accounts_plan (plan_id),
        CONSTRAINT fk_accounts_plan FOREIGN KEY (plan_id) REFERENCES plans (id) ON DELETE NO ACTION ON UPDATE NO ACTION
      ) ${TABLE}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS identities (
        issuer varchar(255) ${EXACT} NOT NULL,
        subject varchar(255) ${EXACT} NOT NULL,
        account_id char(30) ${ASCII} NOT NULL,
        created_at datetime(3) NOT NULL,
        PRIMARY KEY (issuer, subject),
        INDEX ix_identities_account (account_id),
        CONSTRAINT fk_identities_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE CASCADE ON UPDATE NO ACTION
      ) ${TABLE}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS api_keys (
        id char(30) ${ASCII} NOT NULL,
        account_id char(30) ${ASCII} NOT NULL,
        name varchar(64) NULL,
        prefix varchar(12) ${ASCII} NOT NULL,
        hashed_key varchar(64) ${ASCII} NOT NULL,
        scopes varchar(32) ${ASCII} NOT NULL,
        allowed_addresses varchar(1000) ${ASCII} NULL,
        last_used_at datetime(3) NULL,
        expires_at datetime(3) NULL,
        revoked_at datetime(3) NULL,
        created_at datetime(3) NOT NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_api_keys_hashed_key (hashed_key),
        INDEX ix_api_keys_account (account_id),
        CONSTRAINT fk_api_keys_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE CASCADE ON UPDATE NO ACTION
      ) ${TABLE}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['api_keys', 'identities', 'accounts', 'plans']) await runner.query(`DROP TABLE ${table}`);
  }
}
