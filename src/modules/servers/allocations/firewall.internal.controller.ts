import { Controller, Get, Query, Req, UseGuards } from '@nestjs/common';
import type { Request } from 'express';
import { Unscoped } from '../../../platform/auth/scope.decorator.js';
import { StringField } from '../../../platform/http/fields.js';
import { ApiExcludeController } from '../../../platform/http/openapi-annotations.js';
import type { FirewallAnswer } from '../../../platform/internal-api/internal-api.contract.js';
import { nodeOf, NodeTokenGuard } from '../../nodes/node-token.guard.js';
import { NodeFirewall } from './node-firewall.js';

class FirewallQuery {
  @StringField({ max: 64, optional: true })
  version?: string;
}

/** What nodes ask for their firewall. */
@Controller('internal/node')
@ApiExcludeController()
@Unscoped('nodes carry a token of their own, and come by the private listener')
@UseGuards(NodeTokenGuard)
export class FirewallInternalController {
  constructor(private readonly rules: NodeFirewall) {}

  /** The rules are left out when the node has them already. */
  @Get('firewall')
  async firewall(@Req() request: Request, @Query() { version }: FirewallQuery): Promise<FirewallAnswer> {
    const answer = await this.rules.of(nodeOf(request).id);
    return answer.version === version ? { version, rules: null, databases: null } : answer;
  }
}
