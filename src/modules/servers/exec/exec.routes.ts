import { Body, Get, HttpCode, Post, Query } from '@nestjs/common';
import { Caller } from '../../../platform/auth/caller.decorator.js';
import type { Principal } from '../../../platform/auth/principal.js';
import { Scope } from '../../../platform/auth/scope.decorator.js';
import { IdParam } from '../../../platform/http/id.pipe.js';
import { ApiAcceptedResponse, ApiOkResponse } from '../../../platform/http/openapi-annotations.js';
import { PageQuery, type Page } from '../../../platform/http/page.js';
import { Waitable } from '../../../platform/http/wait-for.js';
import { AcceptedExec, ExecDto, ExecSummary, ExecView } from './dto/exec.dto.js';
import { ExecService } from './exec.service.js';

/** Routes of commands run in services, the same on both surfaces. */
export abstract class ExecRoutes {
  constructor(private readonly execs: ExecService) {}

  @Get()
  @Scope('read')
  @ApiOkResponse({ type: [ExecSummary] })
  list(@Caller() caller: Principal, @IdParam('srv') id: string, @Query() query: PageQuery): Promise<Page<ExecSummary>> {
    return this.execs.list(caller, id, query);
  }

  @Post()
  @Scope('write')
  @HttpCode(202)
  @ApiAcceptedResponse({ type: AcceptedExec })
  run(@Caller() caller: Principal, @IdParam('srv') id: string, @Body() { command }: ExecDto): Promise<AcceptedExec> {
    return this.execs.run(caller, id, command);
  }

  @Get(':jobId')
  @Scope('read')
  @Waitable()
  @ApiOkResponse({ type: ExecView })
  get(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @IdParam('job', 'jobId') jobId: string,
  ): Promise<ExecView> {
    return this.execs.get(caller, id, jobId);
  }
}
