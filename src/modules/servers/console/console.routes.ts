import { Get } from '@nestjs/common';
import { Caller } from '../../../platform/auth/caller.decorator.js';
import type { Principal } from '../../../platform/auth/principal.js';
import { Scope } from '../../../platform/auth/scope.decorator.js';
import { IdParam } from '../../../platform/http/id.pipe.js';
import { ApiOkResponse } from '../../../platform/http/openapi-annotations.js';
import { ConsoleService } from './console.service.js';
import { ConsoleAccess } from './dto/console.dto.js';

/** Routes of consoles, the same on both surfaces. */
export abstract class ConsoleRoutes {
  constructor(private readonly consoles: ConsoleService) {}

  @Get()
  @Scope('read')
  @ApiOkResponse({ type: ConsoleAccess })
  open(@Caller() caller: Principal, @IdParam('srv') id: string): Promise<ConsoleAccess> {
    return this.consoles.open(caller, id);
  }
}
