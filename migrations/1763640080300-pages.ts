import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLE = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci';
const ASCII = 'CHARACTER SET ascii COLLATE ascii_bin';

/** Sites, what was deployed to them, and whose their domains are. */
export class Pages1763640080300 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS sites (
        id char(30) ${ASCII} NOT NULL,
        account_id char(30) ${ASCII} NOT NULL,
        name varchar(64) NOT NULL,
        domain varchar(253) ${ASCII} NULL,
        spa tinyint(1) NOT NULL,
        active tinyint(1) NOT NULL,
        current_deployment_id char(30) ${ASCII} NULL,
        tls_status varchar(8) ${ASCII} NOT NULL,
        tls_issuer varchar(255) NULL,
        tls_not_after datetime(3) NULL,
        tls_error varchar(500) NULL,
        tls_attempts int NOT NULL,
        tls_next_at datetime(3) NOT NULL,
        dns_failed_at datetime(3) NULL,
        dns_lost_at datetime(3) NULL,
        dns_next_at datetime(3) NOT NULL,
        created_at datetime(3) NOT NULL,
        updated_at datetime(3) NOT NULL,
        deleted_at datetime(3) NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_sites_domain (domain),
        INDEX ix_sites_account (account_id, id),
        INDEX ix_sites_deleted (deleted_at),
        INDEX ix_sites_tls_next (tls_next_at),
        INDEX ix_sites_dns_next (dns_next_at),
        CONSTRAINT fk_sites_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE NO ACTION ON UPDATE NO ACTION
      ) ${TABLE}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS deployments (
        id char(30) ${ASCII} NOT NULL,
        site_id char(30) ${ASCII} NOT NULL,
        status varchar(16) ${ASCII} NOT NULL,
        blob_id varchar(32) ${ASCII} NOT NULL,
        manifest_at bigint unsigned NOT NULL,
        manifest_bytes bigint unsigned NOT NULL,
        files int NOT NULL,
        bytes bigint unsigned NOT NULL,
        warnings json NOT NULL,
        retired_at datetime(3) NULL,
        discarded_at datetime(3) NULL,
        created_at datetime(3) NOT NULL,
        PRIMARY KEY (id),
        INDEX ix_deployments_site (site_id, id),
        INDEX ix_deployments_blob (blob_id),
        INDEX ix_deployments_discarded (discarded_at),
        INDEX ix_deployments_status (status, created_at),
        CONSTRAINT fk_deployments_site FOREIGN KEY (site_id) REFERENCES sites (id) ON DELETE NO ACTION ON UPDATE NO ACTION
      ) ${TABLE}`);
    // It outlives the sites and the accounts it tells of.
    await runner.query(`
      CREATE TABLE IF NOT EXISTS site_domains (
        domain varchar(253) ${ASCII} NOT NULL,
        account_id char(30) ${ASCII} NOT NULL,
        verified_at datetime(3) NULL,
        released_at datetime(3) NULL,
        PRIMARY KEY (domain),
        INDEX ix_site_domains_released (released_at)
      ) ${TABLE}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE site_domains');
    await runner.query('DROP TABLE deployments');
    await runner.query('DROP TABLE sites');
  }
}
