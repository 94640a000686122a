import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLE = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci';
const ASCII = 'CHARACTER SET ascii COLLATE ascii_bin';

/** Secrets of services and accounts, the tokens they are read with, and who read them. */
export class Vault1763640070000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS vault_keys (
        name varchar(16) ${ASCII} NOT NULL,
        kek_id varchar(512) ${ASCII} NOT NULL,
        wrapped varbinary(4096) NOT NULL,
        PRIMARY KEY (name)
      ) ${TABLE}`);
    // Whose row goes takes the wrapped seed along: without it the values are noise, in old copies of the database too.
    await runner.query(`
      CREATE TABLE IF NOT EXISTS vault_scopes (
        scope varchar(40) ${ASCII} NOT NULL,
        account_id char(30) ${ASCII} NOT NULL,
        server_id char(30) ${ASCII} NULL,
        kek_id varchar(512) ${ASCII} NOT NULL,
        wrapped_seed varbinary(4096) NOT NULL,
        generation int NOT NULL,
        epoch bigint unsigned NOT NULL,
        version_floor int NOT NULL,
        head varbinary(32) NOT NULL,
        created_at datetime(3) NOT NULL,
        PRIMARY KEY (scope),
        INDEX ix_vault_scopes_account (account_id),
        INDEX ix_vault_scopes_server (server_id),
        INDEX ix_vault_scopes_kek (kek_id),
        CONSTRAINT fk_vault_scopes_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE CASCADE ON UPDATE NO ACTION,
        CONSTRAINT fk_vault_scopes_server FOREIGN KEY (server_id) REFERENCES servers (id) ON DELETE CASCADE ON UPDATE NO ACTION
      ) ${TABLE}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS vault_secrets (
        id char(30) ${ASCII} NOT NULL,
        scope varchar(40) ${ASCII} NOT NULL,
        key_name varchar(128) ${ASCII} NOT NULL,
        version int NOT NULL,
        sealed tinyint(1) NOT NULL,
        ciphertext blob NULL,
        fingerprint varchar(16) ${ASCII} NOT NULL,
        size int NOT NULL,
        note varchar(500) NULL,
        expires_at varchar(10) ${ASCII} NULL,
        week_reminded tinyint(1) NOT NULL,
        day_reminded tinyint(1) NOT NULL,
        value_set_at datetime(3) NOT NULL,
        last_read_at datetime(3) NULL,
        deleted_at datetime(3) NULL,
        created_at datetime(3) NOT NULL,
        updated_at datetime(3) NOT NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_vault_secrets_key (scope, key_name),
        INDEX ix_vault_secrets_expiry (expires_at),
        CONSTRAINT fk_vault_secrets_scope FOREIGN KEY (scope) REFERENCES vault_scopes (scope) ON DELETE CASCADE ON UPDATE NO ACTION
      ) ${TABLE}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS vault_tokens (
        server_id char(30) ${ASCII} NOT NULL,
        token_hash varchar(64) ${ASCII} NOT NULL,
        prefix varchar(12) ${ASCII} NOT NULL,
        address_lock tinyint(1) NOT NULL,
        created_at datetime(3) NOT NULL,
        PRIMARY KEY (server_id),
        UNIQUE INDEX uq_vault_tokens_hash (token_hash),
        CONSTRAINT fk_vault_tokens_server FOREIGN KEY (server_id) REFERENCES servers (id) ON DELETE CASCADE ON UPDATE NO ACTION
      ) ${TABLE}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS vault_reads (
        id bigint unsigned NOT NULL AUTO_INCREMENT,
        server_id char(30) ${ASCII} NOT NULL,
        read_id varchar(36) ${ASCII} NULL,
        via varchar(8) ${ASCII} NOT NULL,
        address varchar(45) ${ASCII} NOT NULL,
        refused varchar(64) ${ASCII} NULL,
        keys_served text ${ASCII} NOT NULL,
        repeated int NOT NULL,
        at datetime(3) NOT NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_vault_reads_read (read_id),
        INDEX ix_vault_reads_server (server_id, at, id),
        CONSTRAINT fk_vault_reads_server FOREIGN KEY (server_id) REFERENCES servers (id) ON DELETE CASCADE ON UPDATE NO ACTION
      ) ${TABLE}`);
    // Outlives what it is about.
    await runner.query(`
      CREATE TABLE IF NOT EXISTS vault_incidents (
        id char(30) ${ASCII} NOT NULL,
        scope varchar(40) ${ASCII} NOT NULL,
        kind varchar(32) ${ASCII} NOT NULL,
        detail varchar(500) NOT NULL,
        created_at datetime(3) NOT NULL,
        PRIMARY KEY (id),
        INDEX ix_vault_incidents_scope (scope, id)
      ) ${TABLE}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['incidents', 'reads', 'tokens', 'secrets', 'scopes', 'keys']) {
      await runner.query(`DROP TABLE vault_${table}`);
    }
  }
}
