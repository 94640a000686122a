import { ApiProperty } from '../../../platform/http/openapi-annotations.js';
import type { Deployment } from '../deployments/deployment.entity.js';

export class DeploymentWarning {
  @ApiProperty()
  file!: string;

  @ApiProperty({ type: 'integer' })
  line!: number;

  @ApiProperty()
  message!: string;
}

export class DeploymentView {
  @ApiProperty()
  deployId!: string;

  @ApiProperty({ enum: ['READY'] })
  status!: 'READY';

  @ApiProperty({ description: 'Whether it is what the site shows' })
  current!: boolean;

  @ApiProperty({ type: 'integer' })
  files!: number;

  @ApiProperty({ type: 'integer', description: 'Bytes of all files together' })
  bytes!: number;

  @ApiProperty({ type: String, format: 'uri', nullable: true, description: 'Where it can be looked at by itself' })
  previewUrl!: string | null;

  @ApiProperty({ type: [DeploymentWarning], description: 'Lines of `_headers` and `_redirects` without an effect' })
  warnings!: DeploymentWarning[];

  @ApiProperty({ format: 'date-time' })
  createdAt!: Date;
}

export function deploymentView(
  { id, files, bytes, warnings, createdAt }: Deployment,
  currentId: string | null,
  previewUrl: string | null,
): DeploymentView {
  return { deployId: id, status: 'READY', current: id === currentId, files, bytes, previewUrl, warnings, createdAt };
}
