import type { MigrationInterface, QueryRunner } from 'typeorm';

export class NodeConsole1763640031000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE nodes ADD COLUMN IF NOT EXISTS console_url varchar(255) CHARACTER SET ascii COLLATE ascii_bin NULL AFTER address',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE nodes DROP COLUMN console_url');
  }
}
