import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the firewall does with a service's port, and ports that are on their way out. */
export class Firewall1763640061000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE allocations
        ADD COLUMN IF NOT EXISTS active tinyint(1) NOT NULL DEFAULT 1,
        ADD COLUMN IF NOT EXISTS rate_limit int NOT NULL DEFAULT 0,
        ADD COLUMN IF NOT EXISTS removing tinyint(1) NOT NULL DEFAULT 0`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE allocations DROP COLUMN active, DROP COLUMN rate_limit, DROP COLUMN removing');
  }
}
