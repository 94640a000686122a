import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLE = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci';
const ASCII = 'CHARACTER SET ascii COLLATE ascii_bin';

export class Operations1763640010000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS operations (
        id char(30) ${ASCII} NOT NULL,
        account_id char(30) ${ASCII} NOT NULL,
        type varchar(64) ${ASCII} NOT NULL,
        resource_id char(30) ${ASCII} NOT NULL,
        status varchar(16) ${ASCII} NOT NULL,
        payload json NOT NULL,
        active_key varchar(64) ${ASCII} NULL,
        step varchar(64) ${ASCII} NULL,
        progress int NOT NULL,
        attempts int NOT NULL,
        failures int NOT NULL,
        cancel_requested tinyint(1) NOT NULL,
        undoing tinyint(1) NOT NULL,
        due_at datetime(3) NOT NULL,
        lease_owner varchar(64) ${ASCII} NULL,
        lease_until datetime(3) NULL,
        error_code varchar(64) ${ASCII} NULL,
        error_detail varchar(500) NULL,
        created_at datetime(3) NOT NULL,
        started_at datetime(3) NULL,
        finished_at datetime(3) NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_operations_active_key (active_key),
        INDEX ix_operations_due (status, due_at),
        INDEX ix_operations_resource (resource_id, id)
      ) ${TABLE}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS activity_events (
        id char(30) ${ASCII} NOT NULL,
        account_id char(30) ${ASCII} NOT NULL,
        resource_id char(30) ${ASCII} NOT NULL,
        event varchar(64) ${ASCII} NOT NULL,
        actor_type varchar(16) ${ASCII} NOT NULL,
        actor_id char(30) ${ASCII} NULL,
        ip varchar(45) ${ASCII} NULL,
        properties json NOT NULL,
        created_at datetime(3) NOT NULL,
        PRIMARY KEY (id),
        INDEX ix_activity_resource (resource_id, id),
        INDEX ix_activity_account (account_id, id)
      ) ${TABLE}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE activity_events');
    await runner.query('DROP TABLE operations');
  }
}
