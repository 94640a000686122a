import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLE = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci';
const ASCII = 'CHARACTER SET ascii COLLATE ascii_bin';

export class Exec1763640030000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS server_execs (
        id char(30) ${ASCII} NOT NULL,
        server_id char(30) ${ASCII} NOT NULL,
        operation_id char(30) ${ASCII} NOT NULL,
        status varchar(16) ${ASCII} NOT NULL,
        command text NOT NULL,
        exit_code int NULL,
        stdout mediumtext NOT NULL,
        stderr mediumtext NOT NULL,
        truncated tinyint(1) NOT NULL,
        error_code varchar(64) ${ASCII} NULL,
        created_at datetime(3) NOT NULL,
        started_at datetime(3) NULL,
        finished_at datetime(3) NULL,
        PRIMARY KEY (id),
        INDEX ix_server_execs_server (server_id, id),
        CONSTRAINT fk_server_execs_server FOREIGN KEY (server_id) REFERENCES servers (id) ON DELETE CASCADE ON UPDATE NO ACTION
      ) ${TABLE}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE server_execs');
  }
}
