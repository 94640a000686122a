import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which upload has the room of the object that it is to replace: one of several at most. */
export class UploadReplaces1763640080530 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `ALTER TABLE object_uploads
         ADD COLUMN IF NOT EXISTS replaces_blob_id varchar(32) CHARACTER SET ascii COLLATE ascii_bin NULL AFTER reserved_bytes,
         ADD UNIQUE INDEX IF NOT EXISTS uq_object_uploads_replaces (replaces_blob_id)`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE object_uploads DROP COLUMN replaces_blob_id');
  }
}
