import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLE = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci';
const ASCII = 'CHARACTER SET ascii COLLATE ascii_bin';

/** Machines, and one ledger of public ports for them and services. */
export class Machines1763640080400 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS machines (
        id char(30) ${ASCII} NOT NULL,
        uuid varchar(36) ${ASCII} NOT NULL,
        account_id char(30) ${ASCII} NOT NULL,
        node_id char(30) ${ASCII} NOT NULL,
        name varchar(48) NOT NULL,
        status varchar(16) ${ASCII} NOT NULL,
        image varchar(64) ${ASCII} NOT NULL,
        cpu int NOT NULL,
        ram_mb int NOT NULL,
        disk_gb int NOT NULL,
        ssh_key text NOT NULL,
        created_at datetime(3) NOT NULL,
        updated_at datetime(3) NOT NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_machines_uuid (uuid),
        INDEX ix_machines_account (account_id, id),
        INDEX ix_machines_status (status),
        INDEX ix_machines_node (node_id),
        CONSTRAINT fk_machines_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE NO ACTION ON UPDATE NO ACTION,
        CONSTRAINT fk_machines_node FOREIGN KEY (node_id) REFERENCES nodes (id) ON DELETE NO ACTION ON UPDATE NO ACTION
      ) ${TABLE}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS machine_addresses (
        network varchar(15) ${ASCII} NOT NULL,
        ip bigint unsigned NOT NULL,
        machine_id char(30) ${ASCII} NULL,
        released_at datetime(3) NULL,
        PRIMARY KEY (network, ip),
        UNIQUE INDEX uq_machine_addresses_machine (machine_id),
        CONSTRAINT fk_machine_addresses_machine FOREIGN KEY (machine_id) REFERENCES machines (id) ON DELETE SET NULL ON UPDATE NO ACTION
      ) ${TABLE}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS machine_ports (
        id char(30) ${ASCII} NOT NULL,
        machine_id char(30) ${ASCII} NOT NULL,
        ip varchar(45) ${ASCII} NOT NULL,
        protocol varchar(3) ${ASCII} NOT NULL,
        public_port int NOT NULL,
        target_port int NOT NULL,
        status varchar(16) ${ASCII} NOT NULL,
        created_at datetime(3) NOT NULL,
        PRIMARY KEY (id),
        INDEX ix_machine_ports_machine (machine_id),
        CONSTRAINT fk_machine_ports_machine FOREIGN KEY (machine_id) REFERENCES machines (id) ON DELETE CASCADE ON UPDATE NO ACTION
      ) ${TABLE}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS machine_snapshots (
        id char(30) ${ASCII} NOT NULL,
        machine_id char(30) ${ASCII} NOT NULL,
        name varchar(64) NOT NULL,
        status varchar(16) ${ASCII} NOT NULL,
        created_at datetime(3) NOT NULL,
        PRIMARY KEY (id),
        INDEX ix_machine_snapshots_machine (machine_id),
        CONSTRAINT fk_machine_snapshots_machine FOREIGN KEY (machine_id) REFERENCES machines (id) ON DELETE CASCADE ON UPDATE NO ACTION
      ) ${TABLE}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS port_claims (
        ip varchar(45) ${ASCII} NOT NULL,
        protocol varchar(3) ${ASCII} NOT NULL,
        port int NOT NULL,
        allocation_id char(30) ${ASCII} NULL,
        machine_port_id char(30) ${ASCII} NULL,
        PRIMARY KEY (ip, protocol, port),
        UNIQUE INDEX uq_port_claims_allocation (allocation_id),
        UNIQUE INDEX uq_port_claims_machine_port (machine_port_id),
        CONSTRAINT fk_port_claims_allocation FOREIGN KEY (allocation_id) REFERENCES allocations (id) ON DELETE CASCADE ON UPDATE NO ACTION,
        CONSTRAINT fk_port_claims_machine_port FOREIGN KEY (machine_port_id) REFERENCES machine_ports (id) ON DELETE CASCADE ON UPDATE NO ACTION
      ) ${TABLE}`);
    await runner.query(`
      INSERT IGNORE INTO port_claims (ip, protocol, port, allocation_id) SELECT ip, protocol, port, id FROM allocations`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['port_claims', 'machine_snapshots', 'machine_ports', 'machine_addresses', 'machines']) {
      await runner.query(`DROP TABLE ${table}`);
    }
  }
}
