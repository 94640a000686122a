import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLE = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci';
const ASCII = 'CHARACTER SET ascii COLLATE ascii_bin';

/** Alert thresholds, notifications to the account, and what a crash leaves behind to look at. */
export class Alerts1763640051000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS server_alerts (
        server_id char(30) ${ASCII} NOT NULL,
        ram double NULL,
        cpu double NULL,
        ram_raised tinyint(1) NOT NULL,
        cpu_raised tinyint(1) NOT NULL,
        sampled_at datetime(3) NOT NULL,
        cpu_nanoseconds bigint unsigned NULL,
        cpu_read_at datetime(3) NULL,
        program_started_at datetime(3) NULL,
        updated_at datetime(3) NOT NULL,
        PRIMARY KEY (server_id),
        INDEX ix_server_alerts_sampled (sampled_at),
        CONSTRAINT fk_server_alerts_server FOREIGN KEY (server_id) REFERENCES servers (id) ON DELETE CASCADE ON UPDATE NO ACTION
      ) ${TABLE}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS notifications (
        id char(30) ${ASCII} NOT NULL,
        account_id char(30) ${ASCII} NOT NULL,
        resource_id char(30) ${ASCII} NOT NULL,
        kind varchar(64) ${ASCII} NOT NULL,
        text varchar(1800) NOT NULL,
        status varchar(16) ${ASCII} NOT NULL,
        reason varchar(64) ${ASCII} NULL,
        attempts int NOT NULL,
        due_at datetime(3) NOT NULL,
        claim varchar(36) ${ASCII} NULL,
        created_at datetime(3) NOT NULL,
        sent_at datetime(3) NULL,
        PRIMARY KEY (id),
        INDEX ix_notifications_account (account_id, id),
        INDEX ix_notifications_due (status, due_at),
        CONSTRAINT fk_notifications_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE CASCADE ON UPDATE NO ACTION
      ) ${TABLE}`);
    await runner.query(`ALTER TABLE accounts ADD COLUMN IF NOT EXISTS chat_user_id varchar(20) ${ASCII} NULL`);
    await runner.query(`
      ALTER TABLE server_crashes
        ADD COLUMN IF NOT EXISTS restarted tinyint(1) NOT NULL DEFAULT 0,
        ADD COLUMN IF NOT EXISTS output json NULL,
        ADD COLUMN IF NOT EXISTS memory_bytes bigint unsigned NULL,
        ADD COLUMN IF NOT EXISTS cpu_percent double NULL,
        ADD COLUMN IF NOT EXISTS usage_at datetime(3) NULL`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE server_crashes
        DROP COLUMN restarted, DROP COLUMN output, DROP COLUMN memory_bytes, DROP COLUMN cpu_percent, DROP COLUMN usage_at`);
    await runner.query('ALTER TABLE accounts DROP COLUMN chat_user_id');
    await runner.query('DROP TABLE notifications');
    await runner.query('DROP TABLE server_alerts');
  }
}
