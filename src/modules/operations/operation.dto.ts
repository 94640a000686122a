import { ApiProperty } from '../../platform/http/openapi-annotations.js';
import { OPERATION_STATUSES, type OperationStatus } from '../../platform/operations/operation.entity.js';

export class OperationError {
  @ApiProperty()
  code!: string;

  @ApiProperty()
  detail!: string;
}

export class OperationView {
  @ApiProperty()
  id!: string;

  @ApiProperty({ example: 'server.create' })
  type!: string;

  @ApiProperty()
  resourceId!: string;

  @ApiProperty({ enum: OPERATION_STATUSES })
  status!: OperationStatus;

  @ApiProperty({ type: String, nullable: true, description: 'Step that runs or ran last' })
  step!: string | null;

  @ApiProperty({ type: 'integer', description: 'Percent' })
  progress!: number;

  @ApiProperty({ type: OperationError, nullable: true })
  error!: OperationError | null;

  @ApiProperty({ format: 'date-time' })
  createdAt!: Date;

  @ApiProperty({ type: Date, nullable: true })
  startedAt!: Date | null;

  @ApiProperty({ type: Date, nullable: true })
  finishedAt!: Date | null;
}
