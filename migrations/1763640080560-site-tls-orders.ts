import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Until when the edge may order a certificate for a site that has none. */
export class SiteTlsOrders1763640080560 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE sites ADD COLUMN IF NOT EXISTS tls_order_until datetime(3) NULL AFTER tls_next_at');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE sites DROP COLUMN tls_order_until');
  }
}
