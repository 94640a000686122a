import { Get } from '@nestjs/common';
import { Caller } from '../../platform/auth/caller.decorator.js';
import type { Principal } from '../../platform/auth/principal.js';
import { Scope } from '../../platform/auth/scope.decorator.js';
import { ApiOkResponse, ApiOperation } from '../../platform/http/openapi-annotations.js';
import { AccountsService } from './accounts.service.js';
import { AccountProfileDto } from './dto/account-profile.dto.js';

export abstract class MeRoutes {
  protected abstract readonly accounts: AccountsService;

  @Get()
  @Scope('read')
  @ApiOperation({ summary: 'The account of the caller' })
  @ApiOkResponse({ type: AccountProfileDto })
  me(@Caller() caller: Principal): Promise<AccountProfileDto> {
    return this.accounts.profile(caller);
  }
}
