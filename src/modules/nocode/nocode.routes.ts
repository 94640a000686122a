import { Delete, Get, HttpCode, Patch, Post, Query, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { Caller } from '../../platform/auth/caller.decorator.js';
import type { Principal } from '../../platform/auth/principal.js';
import { Scope } from '../../platform/auth/scope.decorator.js';
import { BodyLimit, StreamBody } from '../../platform/http/body.decorators.js';
import { IdParam } from '../../platform/http/id.pipe.js';
import {
  ApiBody,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiResponse,
} from '../../platform/http/openapi-annotations.js';
import { PageQuery, type Page } from '../../platform/http/page.js';
import {
  CreateProjectDto,
  MAX_PROJECT_BODY,
  ProjectDetail,
  ProjectQuota,
  ProjectView,
  SaveProjectDto,
} from './dto/project.dto.js';
import { ProjectSaves } from './project-saves.service.js';
import { sendProject } from './project-answer.js';
import { ProjectsService } from './projects.service.js';

/** Routes of the no-code builder's projects, the same on both surfaces. */
export abstract class NocodeRoutes {
  constructor(
    private readonly projects: ProjectsService,
    private readonly saves: ProjectSaves,
  ) {}

  @Get('quota')
  @Scope('read')
  @ApiOkResponse({ type: ProjectQuota })
  quota(@Caller() caller: Principal): Promise<ProjectQuota> {
    return this.projects.allowance(caller);
  }

  @Get('projects')
  @Scope('read')
  @ApiOkResponse({ type: [ProjectView] })
  list(@Caller() caller: Principal, @Query() query: PageQuery): Promise<Page<ProjectView>> {
    return this.projects.list(caller, query);
  }

  @Get('projects/:id')
  @Scope('read')
  @ApiOkResponse({ type: ProjectDetail })
  async get(@Caller() caller: Principal, @IdParam('prj') id: string, @Res() response: Response): Promise<void> {
    sendProject(response, await this.projects.get(caller, id));
  }

  @Post('projects')
  @Scope('write')
  @StreamBody()
  @BodyLimit(MAX_PROJECT_BODY)
  @ApiBody({ type: CreateProjectDto })
  @ApiCreatedResponse({ type: ProjectView })
  create(@Caller() caller: Principal, @Req() request: Request): Promise<ProjectView> {
    return this.saves.create(caller, request);
  }

  @Patch('projects/:id')
  @Scope('write')
  @StreamBody()
  @BodyLimit(MAX_PROJECT_BODY)
  @ApiOperation({ summary: 'Save the name, the document, or both' })
  @ApiBody({ type: SaveProjectDto })
  @ApiOkResponse({ type: ProjectView })
  @ApiResponse({ status: 409, description: 'The project is at another revision: `currentRevision`' })
  save(@Caller() caller: Principal, @IdParam('prj') id: string, @Req() request: Request): Promise<ProjectView> {
    return this.saves.save(caller, id, request);
  }

  @Post('projects/:id/duplicate')
  @Scope('write')
  @ApiCreatedResponse({ type: ProjectView })
  duplicate(@Caller() caller: Principal, @IdParam('prj') id: string): Promise<ProjectView> {
    return this.projects.duplicate(caller, id);
  }

  @Delete('projects/:id')
  @Scope('write')
  @HttpCode(204)
  @ApiNoContentResponse()
  delete(@Caller() caller: Principal, @IdParam('prj') id: string): Promise<void> {
    return this.projects.delete(caller, id);
  }
}
