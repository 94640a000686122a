import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLE = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci';
const ASCII = 'CHARACTER SET ascii COLLATE ascii_bin';

/** Servers that tenants' databases live on, and the databases of services. */
export class Databases1763640080200 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS database_hosts (
        id char(30) ${ASCII} NOT NULL,
        name varchar(64) ${ASCII} NOT NULL,
        address varchar(255) ${ASCII} NOT NULL,
        port int NOT NULL,
        service_address varchar(255) ${ASCII} NOT NULL,
        service_port int NOT NULL,
        admin_user varchar(80) ${ASCII} NOT NULL,
        sealed_password varbinary(320) NOT NULL,
        ca_certificate text NULL,
        capacity int NOT NULL,
        fault varchar(500) NULL,
        checked_at datetime(3) NULL,
        created_at datetime(3) NOT NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_database_hosts_name (name)
      ) ${TABLE}`);
    // No cascade: a row goes after what it stands for on the host, and a service after its database.
    await runner.query(`
      CREATE TABLE IF NOT EXISTS service_databases (
        id char(30) ${ASCII} NOT NULL,
        server_id char(30) ${ASCII} NOT NULL,
        host_id char(30) ${ASCII} NOT NULL,
        status varchar(16) ${ASCII} NOT NULL,
        version int NOT NULL,
        sealed_program varbinary(128) NOT NULL,
        sealed_next varbinary(128) NULL,
        sealed_platform varbinary(128) NOT NULL,
        size_bytes bigint unsigned NOT NULL,
        created_at datetime(3) NOT NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_service_databases_server (server_id),
        INDEX ix_service_databases_host (host_id),
        CONSTRAINT fk_service_databases_server FOREIGN KEY (server_id) REFERENCES servers (id) ON DELETE NO ACTION ON UPDATE NO ACTION,
        CONSTRAINT fk_service_databases_host FOREIGN KEY (host_id) REFERENCES database_hosts (id) ON DELETE NO ACTION ON UPDATE NO ACTION
      ) ${TABLE}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE service_databases');
    await runner.query('DROP TABLE database_hosts');
  }
}
