import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLE = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci';
const ASCII = 'CHARACTER SET ascii COLLATE ascii_bin';

export class Schedules1763640050000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE IF NOT EXISTS schedules (
        id char(30) ${ASCII} NOT NULL,
        server_id char(30) ${ASCII} NOT NULL,
        name varchar(64) NOT NULL,
        minute varchar(200) ${ASCII} NOT NULL,
        hour varchar(200) ${ASCII} NOT NULL,
        day_of_month varchar(200) ${ASCII} NOT NULL,
        month varchar(200) ${ASCII} NOT NULL,
        day_of_week varchar(200) ${ASCII} NOT NULL,
        timezone varchar(64) ${ASCII} NOT NULL,
        is_active tinyint(1) NOT NULL,
        only_when_online tinyint(1) NOT NULL,
        last_run_at datetime(3) NULL,
        next_run_at datetime(3) NULL,
        created_at datetime(3) NOT NULL,
        updated_at datetime(3) NOT NULL,
        PRIMARY KEY (id),
        INDEX ix_schedules_server (server_id, id),
        INDEX ix_schedules_next_run (next_run_at),
        CONSTRAINT fk_schedules_server FOREIGN KEY (server_id) REFERENCES servers (id) ON DELETE CASCADE ON UPDATE NO ACTION
      ) ${TABLE}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS schedule_tasks (
        id char(30) ${ASCII} NOT NULL,
        schedule_id char(30) ${ASCII} NOT NULL,
        sequence int NOT NULL,
        action varchar(16) ${ASCII} NOT NULL,
        payload varchar(2000) NULL,
        time_offset int NOT NULL,
        continue_on_failure tinyint(1) NOT NULL,
        created_at datetime(3) NOT NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_schedule_tasks_sequence (schedule_id, sequence),
        CONSTRAINT fk_schedule_tasks_schedule FOREIGN KEY (schedule_id) REFERENCES schedules (id) ON DELETE CASCADE ON UPDATE NO ACTION
      ) ${TABLE}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS schedule_runs (
        id char(30) ${ASCII} NOT NULL,
        schedule_id char(30) ${ASCII} NOT NULL,
        slot datetime(3) NULL,
        status varchar(16) ${ASCII} NOT NULL,
        reason varchar(64) ${ASCII} NULL,
        operation_id char(30) ${ASCII} NULL,
        created_at datetime(3) NOT NULL,
        started_at datetime(3) NULL,
        finished_at datetime(3) NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_schedule_runs_slot (schedule_id, slot),
        UNIQUE INDEX uq_schedule_runs_operation (operation_id),
        INDEX ix_schedule_runs_schedule (schedule_id, id),
        CONSTRAINT fk_schedule_runs_schedule FOREIGN KEY (schedule_id) REFERENCES schedules (id) ON DELETE CASCADE ON UPDATE NO ACTION
      ) ${TABLE}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS schedule_run_tasks (
        run_id char(30) ${ASCII} NOT NULL,
        sequence int NOT NULL,
        task_id char(30) ${ASCII} NOT NULL,
        action varchar(16) ${ASCII} NOT NULL,
        payload varchar(2000) NULL,
        time_offset int NOT NULL,
        continue_on_failure tinyint(1) NOT NULL,
        status varchar(16) ${ASCII} NOT NULL,
        due_at datetime(3) NULL,
        operation_id char(30) ${ASCII} NULL,
        error_code varchar(64) ${ASCII} NULL,
        error_detail varchar(500) NULL,
        started_at datetime(3) NULL,
        finished_at datetime(3) NULL,
        PRIMARY KEY (run_id, sequence),
        CONSTRAINT fk_schedule_run_tasks_run FOREIGN KEY (run_id) REFERENCES schedule_runs (id) ON DELETE CASCADE ON UPDATE NO ACTION
      ) ${TABLE}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['schedule_run_tasks', 'schedule_runs', 'schedule_tasks', 'schedules']) {
      await runner.query(`DROP TABLE ${table}`);
    }
  }
}
