import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How much of its outputs is kept of each command, so that those of a service can be added up. */
export class ExecOutputBytes1763640080540 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE server_execs ADD COLUMN IF NOT EXISTS output_bytes int UNSIGNED NOT NULL DEFAULT 0 AFTER stderr',
    );
    await runner.query('UPDATE server_execs SET output_bytes = LENGTH(stdout) + LENGTH(stderr)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE server_execs DROP COLUMN output_bytes');
  }
}
