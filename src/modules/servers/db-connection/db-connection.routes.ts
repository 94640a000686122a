import { Get } from '@nestjs/common';
import { ApiNotFoundResponse } from '@nestjs/swagger';
import { Caller } from '../../../platform/auth/caller.decorator.js';
import type { Principal } from '../../../platform/auth/principal.js';
import { Scope } from '../../../platform/auth/scope.decorator.js';
import { IdParam } from '../../../platform/http/id.pipe.js';
import { DbConnectionService } from './db-connection.service.js';

/** How a service's program reaches its database, the same on both surfaces. */
export abstract class DbConnectionRoutes {
  constructor(private readonly connections: DbConnectionService) {}

  @Get()
  @Scope('read')
  @ApiNotFoundResponse()
  get(@Caller() caller: Principal, @IdParam('srv') id: string): Promise<never> {
    return this.connections.get(caller, id);
  }
}
