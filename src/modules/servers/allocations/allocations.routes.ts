import { Body, Delete, Get, HttpCode, Post } from '@nestjs/common';
import { Caller } from '../../../platform/auth/caller.decorator.js';
import type { Principal } from '../../../platform/auth/principal.js';
import { Scope } from '../../../platform/auth/scope.decorator.js';
import { IdParam } from '../../../platform/http/id.pipe.js';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse } from '../../../platform/http/openapi-annotations.js';
import { AllocationsService } from './allocations.service.js';
import { AddAllocationDto, FirewallRuleDto, PortView } from './dto/allocation.dto.js';

/** Routes of a service's ports, the same on both surfaces. */
export abstract class AllocationsRoutes {
  constructor(private readonly allocations: AllocationsService) {}

  @Get()
  @Scope('read')
  @ApiOkResponse({ type: [PortView] })
  list(@Caller() caller: Principal, @IdParam('srv') id: string): Promise<PortView[]> {
    return this.allocations.list(caller, id);
  }

  @Post()
  @Scope('write')
  @ApiCreatedResponse({ type: PortView })
  add(@Caller() caller: Principal, @IdParam('srv') id: string, @Body() body: AddAllocationDto): Promise<PortView> {
    return this.allocations.add(caller, id, body);
  }

  @Post('firewall')
  @Scope('write')
  @HttpCode(200)
  @ApiOkResponse({ type: PortView })
  setFirewall(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @Body() body: FirewallRuleDto,
  ): Promise<PortView> {
    return this.allocations.setFirewall(caller, id, body);
  }

  @Delete(':alcId')
  @Scope('write')
  @HttpCode(204)
  @ApiNoContentResponse()
  remove(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @IdParam('alc', 'alcId') alcId: string,
  ): Promise<void> {
    return this.allocations.remove(caller, id, alcId);
  }
}
