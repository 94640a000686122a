import { ApiProperty } from '../../platform/http/openapi-annotations.js';

export class NetworkUsage {
  @ApiProperty({ type: 'integer' })
  rx_bytes!: number;

  @ApiProperty({ type: 'integer' })
  tx_bytes!: number;
}

export class ResourceUsage {
  @ApiProperty({ description: 'Percent of one core' })
  cpu_percent!: number;

  @ApiProperty({ type: 'integer' })
  memory_bytes!: number;

  @ApiProperty({ type: 'integer' })
  disk_bytes!: number;

  @ApiProperty({ type: NetworkUsage })
  network!: NetworkUsage;

  @ApiProperty({ type: 'integer' })
  uptime_ms!: number;
}
