import { Get } from '@nestjs/common';
import { Caller } from '../../platform/auth/caller.decorator.js';
import type { Principal } from '../../platform/auth/principal.js';
import { Scope } from '../../platform/auth/scope.decorator.js';
import { IdParam } from '../../platform/http/id.pipe.js';
import { ApiOkResponse } from '../../platform/http/openapi-annotations.js';
import { Waitable } from '../../platform/http/wait-for.js';
import { OperationsService } from '../../platform/operations/operations.service.js';
import { OperationView } from './operation.dto.js';

/** How an accepted change is getting on, or how it ended. */
export abstract class OperationsRoutes {
  constructor(private readonly operations: OperationsService) {}

  @Get(':id')
  @Scope('read')
  @Waitable()
  @ApiOkResponse({ type: OperationView })
  async get(@Caller() caller: Principal, @IdParam('op') id: string): Promise<OperationView> {
    const operation = await this.operations.findOwned(caller.accountId, id);
    const { type, resourceId, status, step, progress, createdAt, startedAt, finishedAt } = operation;
    const error =
      operation.errorCode === null ? null : { code: operation.errorCode, detail: operation.errorDetail ?? '' };
    return { id, type, resourceId, status, step, progress, error, createdAt, startedAt, finishedAt };
  }
}
