import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What tells whether objects of a bucket that were read before are still what they were. */
export class BucketRevision1763640080590 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE buckets ADD COLUMN IF NOT EXISTS revision bigint unsigned NOT NULL DEFAULT 0');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE buckets DROP COLUMN revision');
  }
}
