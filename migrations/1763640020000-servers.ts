import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLE = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci';
const ASCII = 'CHARACTER SET ascii COLLATE ascii_bin';

export class Servers1763640020000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS nodes (
        id char(30) ${ASCII} NOT NULL,
        name varchar(64) ${ASCII} NOT NULL,
        token_hash varchar(64) ${ASCII} NOT NULL,
        agent_version varchar(32) ${ASCII} NULL,
        address varchar(45) ${ASCII} NULL,
        last_seen_at datetime(3) NULL,
        created_at datetime(3) NOT NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_nodes_name (name),
        UNIQUE INDEX uq_nodes_token_hash (token_hash)
      ) ${TABLE}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS servers (
        id char(30) ${ASCII} NOT NULL,
        uuid varchar(36) ${ASCII} NOT NULL,
        account_id char(30) ${ASCII} NOT NULL,
        node_id char(30) ${ASCII} NOT NULL,
        name varchar(48) NOT NULL,
        description varchar(500) NOT NULL,
        status varchar(16) ${ASCII} NOT NULL,
        runtime varchar(16) ${ASCII} NOT NULL,
        image varchar(64) ${ASCII} NOT NULL,
        ram int NOT NULL,
        disk int NOT NULL,
        cpu int NOT NULL,
        auto_restart tinyint(1) NOT NULL,
        restart_budget_from datetime(3) NOT NULL,
        installed_at datetime(3) NULL,
        created_at datetime(3) NOT NULL,
        updated_at datetime(3) NOT NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_servers_uuid (uuid),
        INDEX ix_servers_account (account_id, id),
        INDEX ix_servers_node (node_id),
        INDEX ix_servers_status (status),
        CONSTRAINT fk_servers_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE NO ACTION ON UPDATE NO ACTION,
        CONSTRAINT fk_servers_node FOREIGN KEY (node_id) REFERENCES nodes (id) ON DELETE NO ACTION ON UPDATE NO ACTION
      ) ${TABLE}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS server_variables (
        server_id char(30) ${ASCII} NOT NULL,
        variable_key varchar(64) ${ASCII} NOT NULL,
        value varchar(2000) NOT NULL,
        PRIMARY KEY (server_id, variable_key),
        CONSTRAINT fk_server_variables_server FOREIGN KEY (server_id) REFERENCES servers (id) ON DELETE CASCADE ON UPDATE NO ACTION
      ) ${TABLE}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS server_installations (
        server_id char(30) ${ASCII} NOT NULL,
        exit_code int NULL,
        log mediumtext NOT NULL,
        finished_at datetime(3) NOT NULL,
        PRIMARY KEY (server_id),
        CONSTRAINT fk_server_installations_server FOREIGN KEY (server_id) REFERENCES servers (id) ON DELETE CASCADE ON UPDATE NO ACTION
      ) ${TABLE}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS server_crashes (
        id char(30) ${ASCII} NOT NULL,
        server_id char(30) ${ASCII} NOT NULL,
        exit_code int NULL,
        \`signal\` varchar(16) ${ASCII} NULL,
        out_of_memory tinyint(1) NOT NULL,
        at datetime(3) NOT NULL,
        PRIMARY KEY (id),
        INDEX ix_server_crashes_server (server_id, at),
        CONSTRAINT fk_server_crashes_server FOREIGN KEY (server_id) REFERENCES servers (id) ON DELETE CASCADE ON UPDATE NO ACTION
      ) ${TABLE}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS allocations (
        id char(30) ${ASCII} NOT NULL,
        server_id char(30) ${ASCII} NOT NULL,
        ip varchar(45) ${ASCII} NOT NULL,
        port int NOT NULL,
        protocol varchar(3) ${ASCII} NOT NULL,
        is_primary tinyint(1) NOT NULL,
        created_at datetime(3) NOT NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_allocations_port (ip, protocol, port),
        INDEX ix_allocations_server (server_id),
        CONSTRAINT fk_allocations_server FOREIGN KEY (server_id) REFERENCES servers (id) ON DELETE CASCADE ON UPDATE NO ACTION
      ) ${TABLE}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS app_addresses (
        network varchar(15) ${ASCII} NOT NULL,
        ip bigint unsigned NOT NULL,
        server_id char(30) ${ASCII} NULL,
        released_at datetime(3) NULL,
        PRIMARY KEY (network, ip),
        UNIQUE INDEX uq_app_addresses_server (server_id),
        CONSTRAINT fk_app_addresses_server FOREIGN KEY (server_id) REFERENCES servers (id) ON DELETE SET NULL ON UPDATE NO ACTION
      ) ${TABLE}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of [
      'app_addresses',
      'allocations',
      'server_crashes',
      'server_installations',
      'server_variables',
      'servers',
      'nodes',
    ]) {
      await runner.query(`DROP TABLE ${table}`);
    }
  }
}
