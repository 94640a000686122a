import { Get, Header, HttpCode, Post, Req } from '@nestjs/common';
import type { Request } from 'express';
import { Caller } from '../../../platform/auth/caller.decorator.js';
import { PanelApi } from '../../../platform/auth/panel-api.decorator.js';
import type { Principal } from '../../../platform/auth/principal.js';
import { Scope } from '../../../platform/auth/scope.decorator.js';
import { NotIdempotent } from '../../../platform/http/idempotency.js';
import { ApiOkResponse, ApiOperation, ApiProperty } from '../../../platform/http/openapi-annotations.js';
import { AccountsService } from '../accounts.service.js';
import { AccountProfileDto } from '../dto/account-profile.dto.js';
import { PanelLogin } from './panel-login.service.js';

export class PanelSessionDto {
  @ApiProperty({ type: AccountProfileDto })
  account!: AccountProfileDto;

  @ApiProperty({ description: 'When it ends at the latest' })
  expiresAt!: Date;
}

export class LoggedOutDto {
  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Where the browser ends its session at the identity provider',
  })
  endSessionUrl!: string | null;
}

@PanelApi('auth')
export class PanelSessionController {
  constructor(
    private readonly login: PanelLogin,
    private readonly accounts: AccountsService,
  ) {}

  @Get('session')
  @Scope('read')
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Who is signed in' })
  @ApiOkResponse({ type: PanelSessionDto })
  async session(@Caller() caller: Principal, @Req() request: Request): Promise<PanelSessionDto> {
    return { account: await this.accounts.profile(caller), expiresAt: this.login.expiry(request) };
  }

  @Post('logout')
  @HttpCode(200)
  @Scope('write')
  @NotIdempotent()
  @ApiOperation({ summary: 'End the session' })
  @ApiOkResponse({ type: LoggedOutDto })
  async logout(@Req() request: Request): Promise<LoggedOutDto> {
    return { endSessionUrl: await this.login.end(request) };
  }
}
