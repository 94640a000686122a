import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How many deployments a plan keeps of each site. */
export class SiteDeployments1763640080310 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE plans ADD COLUMN IF NOT EXISTS site_deployments int NOT NULL DEFAULT 5 AFTER sites',
    );
    await runner.query("UPDATE plans SET site_deployments = 20 WHERE id = 'pro'");
    await runner.query('ALTER TABLE plans ALTER COLUMN site_deployments DROP DEFAULT');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE plans DROP COLUMN site_deployments');
  }
}
