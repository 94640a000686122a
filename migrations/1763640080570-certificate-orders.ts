import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLE = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci';
const ASCII = 'CHARACTER SET ascii COLLATE ascii_bin';

/** What authorities were lately asked for on behalf of an account; it outlives the sites it was asked for. */
export class CertificateOrders1763640080570 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS certificate_orders (
        account_id char(30) ${ASCII} NOT NULL,
        ordered_at datetime(3) NOT NULL,
        domain varchar(253) ${ASCII} NOT NULL,
        PRIMARY KEY (account_id, ordered_at, domain),
        CONSTRAINT fk_certificate_orders_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE NO ACTION ON UPDATE NO ACTION
      ) ${TABLE}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE certificate_orders');
  }
}
