import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLE = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci';
const ASCII = 'CHARACTER SET ascii COLLATE ascii_bin';

export class Seo1763640080510 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS seo_scans (
        id char(30) ${ASCII} NOT NULL,
        account_id char(30) ${ASCII} NOT NULL,
        host varchar(260) ${ASCII} NOT NULL,
        url varchar(8192) NOT NULL,
        score tinyint unsigned NOT NULL,
        site_score tinyint unsigned NOT NULL,
        pages tinyint unsigned NOT NULL,
        duration_ms int unsigned NOT NULL,
        report mediumblob NOT NULL,
        created_at datetime(3) NOT NULL,
        PRIMARY KEY (id),
        INDEX ix_seo_scans_account (account_id, id),
        INDEX ix_seo_scans_host (account_id, host, id),
        CONSTRAINT fk_seo_scans_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE NO ACTION ON UPDATE NO ACTION
      ) ${TABLE}`);
    // Of its own, as deleting a report gives no scan back.
    await runner.query(`
      CREATE TABLE IF NOT EXISTS seo_scan_uses (
        id char(30) ${ASCII} NOT NULL,
        account_id char(30) ${ASCII} NOT NULL,
        settled tinyint(1) NOT NULL,
        used_at datetime(3) NOT NULL,
        PRIMARY KEY (id),
        INDEX ix_seo_scan_uses_account (account_id, used_at),
        CONSTRAINT fk_seo_scan_uses_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE NO ACTION ON UPDATE NO ACTION
      ) ${TABLE}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['seo_scan_uses', 'seo_scans']) await runner.query(`DROP TABLE ${table}`);
  }
}
