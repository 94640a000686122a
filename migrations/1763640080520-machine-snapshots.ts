import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How many snapshots a plan lets each machine have. */
export class MachineSnapshots1763640080520 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE plans ADD COLUMN IF NOT EXISTS machine_snapshots int NOT NULL DEFAULT 2 AFTER machines',
    );
    await runner.query("UPDATE plans SET machine_snapshots = 5 WHERE id = 'pro'");
    await runner.query('ALTER TABLE plans ALTER COLUMN machine_snapshots DROP DEFAULT');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE plans DROP COLUMN machine_snapshots');
  }
}
