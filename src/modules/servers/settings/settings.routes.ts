import { Body, Get, HttpCode, Post, Query } from '@nestjs/common';
import { Caller } from '../../../platform/auth/caller.decorator.js';
import type { Principal } from '../../../platform/auth/principal.js';
import { Scope } from '../../../platform/auth/scope.decorator.js';
import { IdParam } from '../../../platform/http/id.pipe.js';
import { ApiOkResponse } from '../../../platform/http/openapi-annotations.js';
import { PageQuery, type Page } from '../../../platform/http/page.js';
import { AlertsService } from './alerts.service.js';
import { CrashesService } from './crashes.service.js';
import {
  AlertsDto,
  AlertsView,
  AutoRestartDto,
  AutoRestartView,
  CrashView,
  NameView,
  RenameDto,
  SettingsView,
} from './dto/settings.dto.js';
import { SettingsService } from './settings.service.js';

/** Routes of a service's settings and crashes, the same on both surfaces. */
export abstract class SettingsRoutes {
  constructor(
    private readonly settings: SettingsService,
    private readonly alerts: AlertsService,
    private readonly crashes: CrashesService,
  ) {}

  @Get('settings')
  @Scope('read')
  @ApiOkResponse({ type: SettingsView })
  get(@Caller() caller: Principal, @IdParam('srv') id: string): Promise<SettingsView> {
    return this.settings.get(caller, id);
  }

  @Post('settings/rename')
  @Scope('write')
  @HttpCode(200)
  @ApiOkResponse({ type: NameView })
  rename(@Caller() caller: Principal, @IdParam('srv') id: string, @Body() body: RenameDto): Promise<NameView> {
    return this.settings.rename(caller, id, body);
  }

  @Post('settings/auto-restart')
  @Scope('write')
  @HttpCode(200)
  @ApiOkResponse({ type: AutoRestartView })
  setAutoRestart(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @Body() { enabled }: AutoRestartDto,
  ): Promise<AutoRestartView> {
    return this.settings.setAutoRestart(caller, id, enabled);
  }

  @Get('settings/alerts')
  @Scope('read')
  @ApiOkResponse({ type: AlertsView })
  getAlerts(@Caller() caller: Principal, @IdParam('srv') id: string): Promise<AlertsView> {
    return this.alerts.get(caller, id);
  }

  @Post('settings/alerts')
  @Scope('write')
  @HttpCode(200)
  @ApiOkResponse({ type: AlertsView })
  setAlerts(@Caller() caller: Principal, @IdParam('srv') id: string, @Body() body: AlertsDto): Promise<AlertsView> {
    return this.alerts.set(caller, id, body);
  }

  @Get('crashes')
  @Scope('read')
  @ApiOkResponse({ type: [CrashView] })
  listCrashes(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @Query() query: PageQuery,
  ): Promise<Page<CrashView>> {
    return this.crashes.list(caller, id, query);
  }
}
