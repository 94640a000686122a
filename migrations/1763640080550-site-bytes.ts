import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How much the deployments of an account may take: as much as its objects, and never so little that no site fits. */
export class SiteBytes1763640080550 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE plans ADD COLUMN IF NOT EXISTS site_bytes bigint NOT NULL DEFAULT 1073741824 AFTER site_deployments',
    );
    await runner.query('UPDATE plans SET site_bytes = GREATEST(site_bytes, storage_bytes)');
    await runner.query('ALTER TABLE plans ALTER COLUMN site_bytes DROP DEFAULT');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE plans DROP COLUMN site_bytes');
  }
}
