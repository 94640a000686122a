import { StringField } from '../../../../platform/http/fields.js';
import { ApiProperty } from '../../../../platform/http/openapi-annotations.js';
import { EXEC_STATUSES, type ExecStatus } from '../server-exec.entity.js';

export class ExecDto {
  @StringField({
    min: 1,
    maxBytes: 16_384,
    pattern: /^[^\u0000]*$/,
    patternHint: 'must not hold zero bytes',
    description:
      'Run by /bin/sh as the service\u2019s user in /home/container, for at most 60 seconds. Whatever it leaves running is ended with it.',
  })
  command!: string;
}

export class AcceptedExec {
  @ApiProperty({ description: 'Ask `GET /servers/{id}/exec/{jobId}` what came of it' })
  jobId!: string;

  @ApiProperty({ enum: EXEC_STATUSES })
  status!: ExecStatus;

  @ApiProperty({ description: 'Ask `GET /operations/{id}` how it ended' })
  operationId!: string;
}

export class ExecSummary {
  @ApiProperty()
  jobId!: string;

  @ApiProperty({
    enum: EXEC_STATUSES,
    description: 'DONE whatever the exit code; FAILED when it could not be run, or nobody knows how it ended',
  })
  status!: ExecStatus;

  @ApiProperty()
  command!: string;

  @ApiProperty({ type: 'integer', nullable: true, description: '128+n when signal n ended it; null but for DONE' })
  exitCode!: number | null;

  @ApiProperty({
    description: 'Whether there was more output than is kept: 1 MiB of each, and 32 MiB of a service’s newest commands',
  })
  truncated!: boolean;

  @ApiProperty({ type: String, nullable: true, description: 'Why it FAILED, such as `interrupted`' })
  reason!: string | null;

  @ApiProperty({ format: 'date-time' })
  createdAt!: Date;

  @ApiProperty({ type: Date, nullable: true })
  startedAt!: Date | null;

  @ApiProperty({ type: Date, nullable: true })
  finishedAt!: Date | null;
}

export class ExecView extends ExecSummary {
  @ApiProperty()
  stdout!: string;

  @ApiProperty()
  stderr!: string;
}
