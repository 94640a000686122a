import { Controller, Get, Header, Query, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { PANEL_PREFIX } from '../../../platform/auth/panel-api.decorator.js';
import { Unscoped } from '../../../platform/auth/scope.decorator.js';
import { ApiFoundResponse, ApiOperation, ApiQuery, ApiTags } from '../../../platform/http/openapi-annotations.js';
import { PanelLogin } from './panel-login.service.js';

/** The two steps of a login; they are what a browser without a session may ask for. */
@Controller(`${PANEL_PREFIX}/auth`)
@Unscoped('There is no session before the login')
@ApiTags('auth')
export class PanelLoginController {
  constructor(private readonly login: PanelLogin) {}

  @Get('login')
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Send the browser to the identity provider' })
  @ApiQuery({ name: 'returnTo', required: false, description: 'Path of the panel to come back to' })
  @ApiFoundResponse()
  async begin(
    @Req() request: Request,
    @Res() response: Response,
    @Query('returnTo') returnTo?: unknown,
  ): Promise<void> {
    response.redirect(302, await this.login.begin(request, response, returnTo));
  }

  @Get('callback')
  @Header('Cache-Control', 'no-store')
  @ApiOperation({ summary: 'Where the identity provider sends the browser back to' })
  @ApiFoundResponse()
  async complete(@Req() request: Request, @Res() response: Response): Promise<void> {
    response.redirect(302, await this.login.complete(request, response));
  }
}
