import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLE = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci';
const ASCII = 'CHARACTER SET ascii COLLATE ascii_bin';

export class Backups1763640040000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // No cascade: a row goes after its blob, and a service after its backups.
    await runner.query(`
      CREATE TABLE IF NOT EXISTS server_backups (
        id char(30) ${ASCII} NOT NULL,
        uuid varchar(36) ${ASCII} NOT NULL,
        server_id char(30) ${ASCII} NOT NULL,
        name varchar(100) NOT NULL,
        status varchar(16) ${ASCII} NOT NULL,
        bytes bigint unsigned NULL,
        checksum varchar(64) ${ASCII} NULL,
        blob_id varchar(32) ${ASCII} NULL,
        is_locked tinyint(1) NOT NULL,
        is_scheduled tinyint(1) NOT NULL,
        created_at datetime(3) NOT NULL,
        completed_at datetime(3) NULL,
        deleted_at datetime(3) NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_server_backups_uuid (uuid),
        UNIQUE INDEX uq_server_backups_blob (blob_id),
        INDEX ix_server_backups_server (server_id, id),
        INDEX ix_server_backups_deleted (deleted_at),
        CONSTRAINT fk_server_backups_server FOREIGN KEY (server_id) REFERENCES servers (id) ON DELETE NO ACTION ON UPDATE NO ACTION
      ) ${TABLE}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE server_backups');
  }
}
