import { Get, HttpCode, Post } from '@nestjs/common';
import { Caller } from '../../../platform/auth/caller.decorator.js';
import type { Principal } from '../../../platform/auth/principal.js';
import { Scope } from '../../../platform/auth/scope.decorator.js';
import { IdParam } from '../../../platform/http/id.pipe.js';
import { ApiAcceptedResponse, ApiOkResponse } from '../../../platform/http/openapi-annotations.js';
import { AcceptedOperation } from '../../../platform/operations/accepted-operation.dto.js';
import { DbConnectionView } from '../dto/database.dto.js';
import { DbConnectionService } from './db-connection.service.js';

/** How a service's program reaches its database, the same on both surfaces. */
export abstract class DbConnectionRoutes {
  constructor(private readonly connections: DbConnectionService) {}

  @Get()
  @Scope('read')
  @ApiOkResponse({ type: DbConnectionView })
  get(@Caller() caller: Principal, @IdParam('srv') id: string): Promise<DbConnectionView> {
    return this.connections.get(caller, id);
  }

  /** When the operation has ended, the new password holds and stands in the connection; sessions with the old one end. */
  @Post('rotate-password')
  @Scope('write')
  @HttpCode(202)
  @ApiAcceptedResponse({ type: AcceptedOperation })
  async rotatePassword(@Caller() caller: Principal, @IdParam('srv') id: string): Promise<AcceptedOperation> {
    return { operationId: (await this.connections.rotatePassword(caller, id)).id };
  }
}
