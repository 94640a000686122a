import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLE = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci';
const ASCII = 'CHARACTER SET ascii COLLATE ascii_bin';

export class Idempotency1763640005000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS idempotency_keys (
        account_id char(30) ${ASCII} NOT NULL,
        idem_key varchar(255) ${ASCII} NOT NULL,
        owner varchar(32) ${ASCII} NOT NULL,
        route_hash varchar(64) ${ASCII} NOT NULL,
        body_hash varchar(64) ${ASCII} NULL,
        state varchar(16) ${ASCII} NOT NULL,
        lease_until datetime(3) NOT NULL,
        response_status smallint unsigned NULL,
        response_body mediumtext NULL,
        response_kept tinyint(1) NOT NULL DEFAULT 1,
        response_location varchar(1024) NULL,
        created_at datetime(3) NOT NULL,
        expires_at datetime(3) NOT NULL,
        PRIMARY KEY (account_id, idem_key),
        INDEX ix_idempotency_keys_expiry (expires_at)
      ) ${TABLE}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE idempotency_keys');
  }
}
