import { BoolField, NumberField, StringField } from '../../../../platform/http/fields.js';
import { ApiProperty } from '../../../../platform/http/openapi-annotations.js';

const PERCENT = { min: 1, max: 100, nullable: true, description: 'Percent of the allocation; null for no alert' };

export class RenameDto {
  @StringField({ min: 3, max: 48, noControl: true })
  name!: string;

  @StringField({ max: 500, optional: true })
  description?: string;
}

export class AutoRestartDto {
  @BoolField()
  enabled!: boolean;
}

export class AlertsDto {
  @NumberField(PERCENT)
  ram!: number | null;

  @NumberField(PERCENT)
  cpu!: number | null;
}

export class SftpView {
  @ApiProperty()
  host!: string;

  @ApiProperty({ type: 'integer' })
  port!: number;

  @ApiProperty()
  username!: string;

  @ApiProperty()
  password!: string;

  @ApiProperty({ type: String, nullable: true, example: 'SHA256:...', description: 'As ssh-keygen -l shows it' })
  hostKeyFingerprint!: string | null;
}

export class SettingsView {
  @ApiProperty({ format: 'uuid' })
  uuid!: string;

  @ApiProperty()
  name!: string;

  @ApiProperty()
  description!: string;

  @ApiProperty()
  autoRestart!: boolean;

  @ApiProperty({ type: SftpView })
  sftp!: SftpView;
}

export class NameView {
  @ApiProperty()
  name!: string;

  @ApiProperty()
  description!: string;
}

export class AutoRestartView {
  @ApiProperty()
  autoRestart!: boolean;
}

export class AlertsView {
  @ApiProperty({ type: Number, nullable: true, description: 'Percent of the allocation' })
  ram!: number | null;

  @ApiProperty({ type: Number, nullable: true, description: 'Percent of the allocation' })
  cpu!: number | null;
}

export class CrashUsage {
  @ApiProperty({ type: 'integer' })
  memoryBytes!: number;

  @ApiProperty({ type: Number, nullable: true, description: 'Percent of one core' })
  cpuPercent!: number | null;

  @ApiProperty({ format: 'date-time' })
  at!: Date;
}

export class CrashView {
  @ApiProperty()
  id!: string;

  @ApiProperty({ format: 'date-time' })
  at!: Date;

  @ApiProperty({ type: 'integer', nullable: true, description: 'Null when the container was ended from outside' })
  exitCode!: number | null;

  @ApiProperty({ type: String, nullable: true, example: 'SIGKILL' })
  signal!: string | null;

  @ApiProperty()
  outOfMemory!: boolean;

  @ApiProperty({ description: 'Whether the platform started the program again' })
  restarted!: boolean;

  @ApiProperty({ type: CrashUsage, nullable: true, description: 'Consumption shortly before the end' })
  usage!: CrashUsage | null;

  @ApiProperty({ type: [String], description: 'The newest lines on the console, 100 at most' })
  output!: string[];
}
