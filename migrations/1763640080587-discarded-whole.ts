import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which of the blobs to be removed were put to their end, so that no parts of them are looked for. */
export class DiscardedWhole1763640080587 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE discarded_blobs ADD COLUMN IF NOT EXISTS whole tinyint(1) NOT NULL DEFAULT 0');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE discarded_blobs DROP COLUMN whole');
  }
}
