import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLE = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci';
const ASCII = 'CHARACTER SET ascii COLLATE ascii_bin';

/** Each service's own password for its files. */
export class Sftp1763640060000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS server_sftp_credentials (
        server_id char(30) ${ASCII} NOT NULL,
        version int NOT NULL,
        sealed_password varbinary(128) NOT NULL,
        updated_at datetime(3) NOT NULL,
        PRIMARY KEY (server_id),
        CONSTRAINT fk_server_sftp_credentials_server FOREIGN KEY (server_id) REFERENCES servers (id) ON DELETE CASCADE ON UPDATE NO ACTION
      ) ${TABLE}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE server_sftp_credentials');
  }
}
