import { CustomField, EnumField, IntField, StringField, type Judge } from '../../../platform/http/fields.js';
import { ApiProperty } from '../../../platform/http/openapi-annotations.js';
import { PROTOCOLS, type Protocol } from '../../../platform/network/protocol.js';
import { BOUNDS } from '../machine-bounds.js';
import { MACHINE_STATUSES, type MachineStatus } from '../machine-status.js';
import { judgeSshKey } from '../ssh-key.js';

const PORT = { min: 1, max: 65_535 };

const judgeKey: Judge = (value) => judgeSshKey(value);

export class CreateMachineDto {
  @StringField({ min: 3, max: 48, noControl: true })
  name!: string;

  @StringField({ description: 'One of the images of `GET /lxc`', example: 'debian/12' })
  image!: string;

  @IntField({ ...BOUNDS.cpu, description: 'Processors' })
  cpu!: number;

  @IntField(BOUNDS.ramMb)
  ramMb!: number;

  @IntField(BOUNDS.diskGb)
  diskGb!: number;

  @CustomField(
    judgeKey,
    { type: 'string' },
    { description: 'Public key of root, one line as in `authorized_keys`, without options' },
  )
  sshKey!: string;
}

export class ResizeMachineDto {
  @IntField({ ...BOUNDS.cpu, optional: true, description: 'Processors' })
  cpu?: number;

  @IntField({ ...BOUNDS.ramMb, optional: true })
  ramMb?: number;

  @IntField({ ...BOUNDS.diskGb, optional: true })
  diskGb?: number;
}

export class AddMachinePortDto {
  @IntField(PORT)
  targetPort!: number;

  @EnumField(PROTOCOLS)
  protocol!: Protocol;

  @IntField({ ...PORT, optional: true, description: 'A free one is chosen when absent' })
  publicPort?: number;
}

export class MachinePortView {
  @ApiProperty()
  id!: string;

  @ApiProperty({ type: 'integer', description: 'Port inside the machine' })
  targetPort!: number;

  @ApiProperty({ enum: PROTOCOLS })
  protocol!: Protocol;

  @ApiProperty({ type: 'integer', description: 'Port on `address` that leads to it' })
  publicPort!: number;

  @ApiProperty()
  address!: string;

  @ApiProperty({ enum: ['PENDING', 'ACTIVE'] })
  status!: string;
}

export class MachineFault {
  @ApiProperty()
  code!: string;

  @ApiProperty()
  detail!: string;
}

export class MachineOperation {
  @ApiProperty()
  id!: string;

  @ApiProperty({ example: 'lxc.create' })
  type!: string;

  @ApiProperty({ enum: ['QUEUED', 'RUNNING', 'DONE', 'FAILED', 'CANCELLED'] })
  status!: string;

  @ApiProperty({ type: MachineFault, nullable: true, description: 'Why it failed' })
  error!: MachineFault | null;
}

export class MachineView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  name!: string;

  @ApiProperty({ example: 'debian/12' })
  image!: string;

  @ApiProperty({ enum: MACHINE_STATUSES })
  status!: MachineStatus;

  @ApiProperty({ type: 'integer', description: 'Processors' })
  cpu!: number;

  @ApiProperty({ type: 'integer' })
  ramMb!: number;

  @ApiProperty({ type: 'integer' })
  diskGb!: number;

  @ApiProperty({ description: 'On the network of machines, behind the platform' })
  ipv4!: string;

  @ApiProperty({ type: [MachinePortView] })
  ports!: MachinePortView[];

  @ApiProperty({ format: 'date-time' })
  createdAt!: Date;
}

export class MachineDetail extends MachineView {
  @ApiProperty({ type: MachineOperation, nullable: true })
  lastOperation!: MachineOperation | null;
}

export class ResizedMachine extends MachineDetail {
  @ApiProperty({ description: 'Whether the new limits hold already; else they will once the operation has ended' })
  appliedLive!: boolean;
}

export class MachineImage {
  @ApiProperty({ example: 'debian/12' })
  alias!: string;

  @ApiProperty()
  description!: string;

  @ApiProperty({ example: 'Debian' })
  os!: string;

  @ApiProperty({ example: '12' })
  release!: string;

  @ApiProperty({ type: 'integer' })
  sizeBytes!: number;
}

export class Bound {
  @ApiProperty({ type: 'integer' })
  min!: number;

  @ApiProperty({ type: 'integer' })
  max!: number;
}

export class MachineBounds {
  @ApiProperty({ type: Bound })
  cpu!: Bound;

  @ApiProperty({ type: Bound })
  ramMb!: Bound;

  @ApiProperty({ type: Bound })
  diskGb!: Bound;
}

export class MachineList {
  @ApiProperty({ type: [MachineView] })
  containers!: MachineView[];

  @ApiProperty({ type: [MachineImage] })
  images!: MachineImage[];

  @ApiProperty({ type: MachineBounds })
  bounds!: MachineBounds;
}
