import { StringField } from '../../../platform/http/fields.js';
import { ApiProperty } from '../../../platform/http/openapi-annotations.js';
import { SNAPSHOT_STATUSES, type SnapshotStatus } from '../snapshots/machine-snapshot.entity.js';

export class CreateSnapshotDto {
  @StringField({ min: 1, max: 64, noControl: true, optional: true, description: 'The moment when absent' })
  name?: string;
}

export class SnapshotView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  name!: string;

  @ApiProperty({ enum: SNAPSHOT_STATUSES })
  status!: SnapshotStatus;

  @ApiProperty({ format: 'date-time' })
  createdAt!: Date;
}

export class AcceptedSnapshot extends SnapshotView {
  @ApiProperty({ description: 'Ask `GET /operations/{id}` how it ended' })
  operationId!: string;
}
