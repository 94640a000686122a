import type { MigrationInterface, QueryRunner } from 'typeorm';

const TABLE = 'ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci';
const ASCII = 'CHARACTER SET ascii COLLATE ascii_bin';

export class Storage1763640080100 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    // A bucket that is being deleted has no name any more, so that the name can be taken again at once.
    await runner.query(`
      CREATE TABLE IF NOT EXISTS buckets (
        id char(30) ${ASCII} NOT NULL,
        account_id char(30) ${ASCII} NOT NULL,
        name varchar(63) ${ASCII} NULL,
        is_public tinyint(1) NOT NULL,
        objects bigint unsigned NOT NULL,
        used_bytes bigint unsigned NOT NULL,
        created_at datetime(3) NOT NULL,
        updated_at datetime(3) NOT NULL,
        deleted_at datetime(3) NULL,
        PRIMARY KEY (id),
        UNIQUE INDEX uq_buckets_name (account_id, name),
        INDEX ix_buckets_deleted (deleted_at),
        CONSTRAINT fk_buckets_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE NO ACTION ON UPDATE NO ACTION
      ) ${TABLE}`);
    // Keys are bytes: no collation has a say in which of them are the same. No cascade: a row goes after its blob.
    await runner.query(`
      CREATE TABLE IF NOT EXISTS bucket_objects (
        bucket_id char(30) ${ASCII} NOT NULL,
        object_key varbinary(1024) NOT NULL,
        blob_id varchar(32) ${ASCII} NOT NULL,
        size bigint unsigned NOT NULL,
        content_type varchar(255) ${ASCII} NOT NULL,
        sha256 varchar(64) ${ASCII} NOT NULL,
        modified_at datetime(3) NOT NULL,
        PRIMARY KEY (bucket_id, object_key),
        UNIQUE INDEX uq_bucket_objects_blob (blob_id),
        CONSTRAINT fk_bucket_objects_bucket FOREIGN KEY (bucket_id) REFERENCES buckets (id) ON DELETE NO ACTION ON UPDATE NO ACTION
      ) ${TABLE}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS object_uploads (
        blob_id varchar(32) ${ASCII} NOT NULL,
        account_id char(30) ${ASCII} NOT NULL,
        bucket_id char(30) ${ASCII} NOT NULL,
        reserved_bytes bigint unsigned NOT NULL,
        seen_at datetime(3) NOT NULL,
        PRIMARY KEY (blob_id),
        INDEX ix_object_uploads_account (account_id),
        INDEX ix_object_uploads_bucket (bucket_id),
        INDEX ix_object_uploads_seen (seen_at),
        CONSTRAINT fk_object_uploads_account FOREIGN KEY (account_id) REFERENCES accounts (id) ON DELETE NO ACTION ON UPDATE NO ACTION,
        CONSTRAINT fk_object_uploads_bucket FOREIGN KEY (bucket_id) REFERENCES buckets (id) ON DELETE NO ACTION ON UPDATE NO ACTION
      ) ${TABLE}`);
    await runner.query(`
      CREATE TABLE IF NOT EXISTS discarded_blobs (
        blob_id varchar(32) ${ASCII} NOT NULL,
        discarded_at datetime(3) NOT NULL,
        PRIMARY KEY (blob_id),
        INDEX ix_discarded_blobs_at (discarded_at)
      ) ${TABLE}`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['discarded_blobs', 'object_uploads', 'bucket_objects', 'buckets']) {
      await runner.query(`DROP TABLE ${table}`);
    }
  }
}
