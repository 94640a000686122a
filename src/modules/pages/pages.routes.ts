import { Body, Delete, Get, HttpCode, Patch, Post, Query, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Caller } from '../../platform/auth/caller.decorator.js';
import type { Principal } from '../../platform/auth/principal.js';
import { Scope } from '../../platform/auth/scope.decorator.js';
import { BodyLimit, StreamBody } from '../../platform/http/body.decorators.js';
import { clientGone } from '../../platform/http/client-gone.js';
import { IdParam } from '../../platform/http/id.pipe.js';
import {
  ApiBody,
  ApiConsumes,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
} from '../../platform/http/openapi-annotations.js';
import { PageQuery, type Page } from '../../platform/http/page.js';
import { RouteLimit } from '../../platform/http/rate-limit.js';
import { DeploymentsService } from './deployments/deployments.service.js';
import { DeploymentView } from './dto/deployment.dto.js';
import { CreateSiteDto, SiteView, UpdateSiteDto } from './dto/site.dto.js';
import { MAX_UPLOAD_BYTES } from './lifecycle/archive-upload.js';
import { SiteDeploys } from './lifecycle/site-deploys.js';
import { SitesService } from './sites/sites.service.js';

/** Routes of sites and their deployments, the same on both surfaces. */
export abstract class PagesRoutes {
  constructor(
    private readonly sites: SitesService,
    private readonly deployments: DeploymentsService,
    private readonly deploys: SiteDeploys,
  ) {}

  @Get()
  @Scope('read')
  @ApiOkResponse({ type: [SiteView] })
  list(@Caller() caller: Principal, @Query() query: PageQuery): Promise<Page<SiteView>> {
    return this.sites.list(caller, query);
  }

  @Post()
  @Scope('write')
  @ApiOperation({ summary: 'Make a site on a domain that points here already' })
  @ApiCreatedResponse({ type: SiteView })
  create(@Caller() caller: Principal, @Body() body: CreateSiteDto): Promise<SiteView> {
    return this.sites.create(caller, body);
  }

  @Get(':id')
  @Scope('read')
  @ApiOkResponse({ type: SiteView })
  get(@Caller() caller: Principal, @IdParam('pag') id: string): Promise<SiteView> {
    return this.sites.get(caller, id);
  }

  @Patch(':id')
  @Scope('write')
  @ApiOkResponse({ type: SiteView })
  update(@Caller() caller: Principal, @IdParam('pag') id: string, @Body() body: UpdateSiteDto): Promise<SiteView> {
    return this.sites.update(caller, id, body);
  }

  @Delete(':id')
  @Scope('write')
  @HttpCode(204)
  @ApiOperation({ summary: 'Delete the site and all its deployments, for good' })
  @ApiNoContentResponse()
  delete(@Caller() caller: Principal, @IdParam('pag') id: string): Promise<void> {
    return this.sites.delete(caller, id);
  }

  // Each may cost an order at the certificate authority, and those are counted there for all accounts together.
  @Post(':id/verify')
  @RouteLimit(60, 3600)
  @Scope('write')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Look at the domain again',
    description:
      'Whether it points here and is proven to be yours; its certificate is then tried for again at once. ' +
      'An account may ask 60 times an hour.',
  })
  @ApiOkResponse({ type: SiteView })
  verify(@Caller() caller: Principal, @IdParam('pag') id: string): Promise<SiteView> {
    return this.sites.verify(caller, id);
  }

  @Get(':id/deployments')
  @Scope('read')
  @ApiOkResponse({ type: [DeploymentView] })
  history(
    @Caller() caller: Principal,
    @IdParam('pag') id: string,
    @Query() query: PageQuery,
  ): Promise<Page<DeploymentView>> {
    return this.deployments.list(caller, id, query);
  }

  @Post(':id/deploy')
  @Scope('write')
  @StreamBody()
  @BodyLimit(MAX_UPLOAD_BYTES)
  @ApiOperation({
    summary: 'Publish a ZIP archive',
    description:
      'One file of any field name, of at most 30 MiB. It is checked and shown before the answer; a refused one changes nothing. ' +
      '`_redirects` may have 2,100 rules and `_headers` 100 paths with 50 headers each, and a target or a value parts of the ' +
      'path ten times; lines beyond that have no effect and are in `warnings`.',
  })
  @ApiConsumes('multipart/form-data')
  @ApiBody({
    schema: { type: 'object', properties: { file: { type: 'string', format: 'binary' } }, required: ['file'] },
  })
  @ApiCreatedResponse({ type: DeploymentView })
  async deploy(
    @Caller() caller: Principal,
    @IdParam('pag') id: string,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<DeploymentView> {
    const { deployment, timing } = await this.deploys.deploy(caller, id, request, clientGone(response));
    const entries = Object.entries(timing).map(([what, ms]) => `${what};dur=${ms.toFixed(1)}`);
    response.setHeader('Server-Timing', entries.join(', '));
    return deployment;
  }

  @Post(':id/rollback/:deployId')
  @Scope('write')
  @HttpCode(200)
  @ApiOperation({ summary: 'Show a past deployment again, as it was' })
  @ApiOkResponse({ type: DeploymentView })
  rollBack(
    @Caller() caller: Principal,
    @IdParam('pag') id: string,
    @IdParam('dep', 'deployId') deployId: string,
  ): Promise<DeploymentView> {
    return this.deployments.rollBack(caller, id, deployId);
  }
}
