import { BoolField, StringField } from '../../../../platform/http/fields.js';
import { ApiProperty } from '../../../../platform/http/openapi-annotations.js';
import { BACKUP_STATUSES, type Backup, type BackupStatus } from '../backup.entity.js';

export class CreateBackupDto {
  @StringField({ min: 1, max: 100, noControl: true, optional: true, description: 'A name with the time when absent.' })
  name?: string;
}

export class LockBackupDto {
  @BoolField({ optional: true, description: 'Whether it is locked from now on (true when absent).' })
  locked?: boolean;
}

export class BackupView {
  @ApiProperty({ format: 'uuid' })
  uuid!: string;

  @ApiProperty()
  name!: string;

  @ApiProperty({ enum: BACKUP_STATUSES })
  status!: BackupStatus;

  @ApiProperty({ type: 'integer', nullable: true, description: 'Size of the archive, once it is complete' })
  bytes!: number | null;

  @ApiProperty({ type: String, nullable: true, description: 'Of the archive as it is downloaded, in hexadecimal' })
  checksum!: string | null;

  @ApiProperty({ enum: ['sha256'] })
  checksumType!: 'sha256';

  @ApiProperty({ description: 'A locked one is neither deleted nor replaced by a scheduled one' })
  isLocked!: boolean;

  @ApiProperty({ format: 'date-time' })
  createdAt!: Date;

  @ApiProperty({ type: Date, nullable: true })
  completedAt!: Date | null;
}

export function backupView({
  uuid,
  name,
  status,
  bytes,
  checksum,
  isLocked,
  createdAt,
  completedAt,
}: Backup): BackupView {
  return { uuid, name, status, bytes, checksum, checksumType: 'sha256', isLocked, createdAt, completedAt };
}
