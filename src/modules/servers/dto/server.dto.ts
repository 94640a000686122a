import { BoolField, EnumField, IntField, StringField } from '../../../platform/http/fields.js';
import { ApiProperty } from '../../../platform/http/openapi-annotations.js';
import { RUNTIMES, type Runtime } from '../runtimes.js';
import { POWER_SIGNALS, SERVER_STATUSES, type PowerSignal, type ServerStatus } from '../server-status.js';

const RAM = { min: 128, max: 8192, description: 'MB' };
const DISK = { min: 512, max: 51_200, description: 'MB' };
const CPU = { min: 25, max: 400, description: 'Percent of one core' };

export class CreateServerDto {
  @StringField({ min: 3, max: 48, noControl: true })
  name!: string;

  @EnumField(RUNTIMES, { caseInsensitive: true })
  runtime!: Runtime;

  @IntField(RAM)
  ram!: number;

  @IntField(DISK)
  disk!: number;

  @IntField(CPU)
  cpu!: number;

  @BoolField({ optional: true, description: 'Provision a MySQL database with the service' })
  withDatabase?: boolean;
}

export class ResizeServerDto {
  @IntField({ ...RAM, optional: true })
  ram?: number;

  @IntField({ ...DISK, optional: true })
  disk?: number;

  @IntField({ ...CPU, optional: true })
  cpu?: number;
}

export class PowerDto {
  @EnumField(POWER_SIGNALS)
  signal!: PowerSignal;
}

export class VariableValueDto {
  @StringField({ max: 2000, noControl: true })
  value!: string;
}

export class ContainerImageDto {
  @StringField({ min: 1, max: 64 })
  image!: string;
}

export class ServerSummary {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  name!: string;

  @ApiProperty({ enum: SERVER_STATUSES })
  status!: ServerStatus;

  @ApiProperty({ enum: RUNTIMES })
  runtime!: Runtime;
}

export class LimitsView {
  @ApiProperty({ type: 'integer', description: 'MB' })
  ram!: number;

  @ApiProperty({ type: 'integer', description: 'MB' })
  disk!: number;

  @ApiProperty({ type: 'integer', description: 'Percent of one core' })
  cpu!: number;
}

export class AllocationView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  ip!: string;

  @ApiProperty({ type: 'integer' })
  port!: number;

  @ApiProperty({ enum: ['tcp', 'udp'] })
  protocol!: string;
}

export class OperationFault {
  @ApiProperty()
  code!: string;

  @ApiProperty()
  detail!: string;
}

export class OperationReference {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  type!: string;

  @ApiProperty({ enum: ['QUEUED', 'RUNNING', 'DONE', 'FAILED', 'CANCELLED'] })
  status!: string;

  @ApiProperty({ type: OperationFault, nullable: true, description: 'Why it failed' })
  error!: OperationFault | null;
}

export class VaultAvailability {
  @ApiProperty({ description: 'Whether the node of the service has the secrets broker' })
  broker!: boolean;
}

export class ServerDetail extends ServerSummary {
  @ApiProperty({ format: 'uuid' })
  uuid!: string;

  @ApiProperty()
  description!: string;

  @ApiProperty()
  image!: string;

  @ApiProperty({ type: LimitsView })
  limits!: LimitsView;

  @ApiProperty()
  autoRestart!: boolean;

  @ApiProperty({ description: 'Hosting node' })
  node!: string;

  @ApiProperty({ description: 'Plan of the account' })
  plan!: string;

  @ApiProperty({ type: AllocationView, nullable: true })
  primaryAllocation!: AllocationView | null;

  @ApiProperty({ type: OperationReference, nullable: true })
  lastOperation!: OperationReference | null;

  @ApiProperty({ type: VaultAvailability })
  vault!: VaultAvailability;

  @ApiProperty({ format: 'date-time' })
  createdAt!: Date;

  @ApiProperty({ format: 'date-time' })
  updatedAt!: Date;
}

export class ResizedServer extends ServerDetail {
  @ApiProperty({ description: 'Whether the new limits hold already; else they will once the operation has ended' })
  appliedLive!: boolean;
}

export class VariableView {
  @ApiProperty()
  key!: string;

  @ApiProperty()
  name!: string;

  @ApiProperty()
  description!: string;

  @ApiProperty()
  value!: string;

  @ApiProperty()
  defaultValue!: string;

  @ApiProperty()
  editable!: boolean;
}

export class StartupView {
  @ApiProperty()
  command!: string;

  @ApiProperty()
  image!: string;

  @ApiProperty({ type: [String] })
  images!: string[];

  @ApiProperty({ type: [VariableView] })
  variables!: VariableView[];
}

export class InstallationView {
  @ApiProperty({ type: 'integer', nullable: true })
  exitCode!: number | null;

  @ApiProperty({ description: 'The newest part of what the installation printed' })
  log!: string;

  @ApiProperty({ type: Date, nullable: true })
  finishedAt!: Date | null;
}

export class ActorView {
  @ApiProperty({ enum: ['key', 'session', 'system'] })
  type!: string;

  @ApiProperty({ type: String, nullable: true })
  id!: string | null;
}

export class ActivityView {
  @ApiProperty()
  id!: string;

  @ApiProperty({ example: 'server:power.start' })
  event!: string;

  @ApiProperty({ type: ActorView })
  actor!: ActorView;

  @ApiProperty({ type: String, nullable: true })
  ip!: string | null;

  @ApiProperty({ type: Object })
  properties!: object;

  @ApiProperty({ format: 'date-time' })
  createdAt!: Date;
}
