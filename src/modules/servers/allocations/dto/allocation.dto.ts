import { BoolField, EnumField, IntField } from '../../../../platform/http/fields.js';
import { ApiProperty } from '../../../../platform/http/openapi-annotations.js';
import { AllocationView } from '../../dto/server.dto.js';
import { PROTOCOLS, type Protocol } from '../../../../platform/network/protocol.js';

const PORT = { min: 1, max: 65_535 };

export class AddAllocationDto {
  @EnumField(PROTOCOLS)
  protocol!: Protocol;

  @IntField({ ...PORT, optional: true, description: 'A free one is chosen when absent' })
  port?: number;
}

export class FirewallRuleDto {
  @IntField({ ...PORT, description: 'One of the ports of the service' })
  port!: number;

  @BoolField({ description: 'Whether connections are let through' })
  active!: boolean;

  @IntField({ min: 0, max: 10_000, description: 'New connections a second from one address; 0 for no limit' })
  rateLimit!: number;
}

export class FirewallView {
  @ApiProperty()
  active!: boolean;

  @ApiProperty({ type: 'integer', description: 'New connections a second from one address; 0 for no limit' })
  rateLimit!: number;
}

export class PortView extends AllocationView {
  @ApiProperty({ description: 'The one the program is told of as SERVER_PORT' })
  isPrimary!: boolean;

  @ApiProperty({ type: FirewallView })
  firewall!: FirewallView;
}
