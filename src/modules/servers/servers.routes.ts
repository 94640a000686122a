import { Body, Delete, Get, HttpCode, Param, Patch, Post, Put, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Caller } from '../../platform/auth/caller.decorator.js';
import type { Principal } from '../../platform/auth/principal.js';
import { Scope } from '../../platform/auth/scope.decorator.js';
import { IdParam } from '../../platform/http/id.pipe.js';
import {
  ApiAcceptedResponse,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
} from '../../platform/http/openapi-annotations.js';
import { PageQuery, type Page } from '../../platform/http/page.js';
import { Waitable } from '../../platform/http/wait-for.js';
import { AcceptedOperation } from '../../platform/operations/accepted-operation.dto.js';
import { ResourceUsage } from '../instances/usage-meter.service.js';
import {
  ActivityView,
  ContainerImageDto,
  CreateServerDto,
  InstallationView,
  PowerDto,
  ResizedServer,
  ResizeServerDto,
  ServerDetail,
  ServerSummary,
  StartupView,
  VariableValueDto,
  VariableView,
} from './dto/server.dto.js';
import { ActivityService } from './activity/activity.service.js';
import { InstallationService } from './install/installation.service.js';
import { PowerService } from './power/power.service.js';
import { ResizeService } from './resize/resize.service.js';
import { ServersService } from './servers.service.js';
import { StartupService } from './startup/startup.service.js';
import { UsageService } from './usage/usage.service.js';

/** Routes of application services, the same on both surfaces. */
export abstract class ServersRoutes {
  constructor(
    private readonly servers: ServersService,
    private readonly power: PowerService,
    private readonly startup: StartupService,
    private readonly usage: UsageService,
    private readonly installations: InstallationService,
    private readonly resizing: ResizeService,
    private readonly activities: ActivityService,
  ) {}

  @Get()
  @Scope('read')
  @ApiOkResponse({ type: [ServerSummary] })
  list(@Caller() caller: Principal, @Query() query: PageQuery): Promise<Page<ServerSummary>> {
    return this.servers.list(caller, query);
  }

  @Post()
  @Scope('write')
  @ApiCreatedResponse({ type: ServerDetail })
  async create(
    @Caller() caller: Principal,
    @Body() body: CreateServerDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ServerDetail> {
    const server = await this.servers.create(caller, body);
    response.location(`${response.req.path.replace(/\/$/, '')}/${server.id}`);
    return server;
  }

  @Get(':id')
  @Scope('read')
  @Waitable()
  @ApiOkResponse({ type: ServerDetail })
  get(@Caller() caller: Principal, @IdParam('srv') id: string): Promise<ServerDetail> {
    return this.servers.get(caller, id);
  }

  @Delete(':id')
  @Scope('write')
  @HttpCode(204)
  @ApiNoContentResponse()
  delete(@Caller() caller: Principal, @IdParam('srv') id: string): Promise<void> {
    return this.servers.delete(caller, id);
  }

  @Get(':id/resources')
  @Scope('read')
  @ApiOkResponse({ type: ResourceUsage })
  resources(@Caller() caller: Principal, @IdParam('srv') id: string): Promise<ResourceUsage> {
    return this.usage.get(caller, id);
  }

  @Patch(':id/resources')
  @Scope('write')
  @ApiOkResponse({ type: ResizedServer })
  resize(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @Body() body: ResizeServerDto,
  ): Promise<ResizedServer> {
    return this.resizing.resize(caller, id, body);
  }

  @Get(':id/startup')
  @Scope('read')
  @ApiOkResponse({ type: StartupView })
  startupOf(@Caller() caller: Principal, @IdParam('srv') id: string): Promise<StartupView> {
    return this.startup.get(caller, id);
  }

  @Patch(':id/variables/:key')
  @Scope('write')
  @ApiOkResponse({ type: VariableView })
  setVariable(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @Param('key') key: string,
    @Body() { value }: VariableValueDto,
  ): Promise<VariableView> {
    return this.startup.setVariable(caller, id, key, value);
  }

  @Put(':id/startup/container-image')
  @Scope('write')
  @ApiOkResponse({ type: StartupView })
  setImage(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @Body() { image }: ContainerImageDto,
  ): Promise<StartupView> {
    return this.startup.setImage(caller, id, image);
  }

  @Post(':id/power')
  @Scope('write')
  @HttpCode(202)
  @ApiAcceptedResponse({ type: AcceptedOperation })
  async sendPower(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @Body() { signal }: PowerDto,
  ): Promise<AcceptedOperation> {
    return { operationId: (await this.power.send(caller, id, signal)).id };
  }

  @Post(':id/reinstall')
  @Scope('write')
  @HttpCode(202)
  @ApiAcceptedResponse({ type: AcceptedOperation })
  async reinstall(@Caller() caller: Principal, @IdParam('srv') id: string): Promise<AcceptedOperation> {
    return { operationId: (await this.servers.reinstall(caller, id)).id };
  }

  @Post(':id/retry')
  @Scope('write')
  @HttpCode(202)
  @ApiAcceptedResponse({ type: AcceptedOperation })
  async retry(@Caller() caller: Principal, @IdParam('srv') id: string): Promise<AcceptedOperation> {
    return { operationId: (await this.servers.retry(caller, id)).id };
  }

  @Get(':id/installation')
  @Scope('read')
  @ApiOkResponse({ type: InstallationView })
  installation(@Caller() caller: Principal, @IdParam('srv') id: string): Promise<InstallationView> {
    return this.installations.get(caller, id);
  }

  @Get(':id/activity')
  @Scope('read')
  @ApiOkResponse({ type: [ActivityView] })
  activity(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @Query() query: PageQuery,
  ): Promise<Page<ActivityView>> {
    return this.activities.list(caller, id, query);
  }
}
