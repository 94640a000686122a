import { Body, Delete, Get, HttpCode, Patch, Post, Query } from '@nestjs/common';
import { Caller } from '../../../platform/auth/caller.decorator.js';
import type { Principal } from '../../../platform/auth/principal.js';
import { Scope } from '../../../platform/auth/scope.decorator.js';
import { IdParam } from '../../../platform/http/id.pipe.js';
import {
  ApiAcceptedResponse,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
} from '../../../platform/http/openapi-annotations.js';
import { PageQuery, type Page } from '../../../platform/http/page.js';
import {
  AcceptedRun,
  ChangeScheduleDto,
  CreateScheduleDto,
  CreateTaskDto,
  RunView,
  ScheduleView,
  TaskView,
} from './dto/schedule.dto.js';
import { SchedulesService } from './schedules.service.js';

/** Routes of schedules, the same on both surfaces. */
export abstract class SchedulesRoutes {
  constructor(private readonly schedules: SchedulesService) {}

  @Get()
  @Scope('read')
  @ApiOkResponse({ type: [ScheduleView] })
  list(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @Query() query: PageQuery,
  ): Promise<Page<ScheduleView>> {
    return this.schedules.list(caller, id, query);
  }

  @Post()
  @Scope('write')
  @ApiCreatedResponse({ type: ScheduleView })
  create(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @Body() body: CreateScheduleDto,
  ): Promise<ScheduleView> {
    return this.schedules.create(caller, id, body);
  }

  @Get(':sid')
  @Scope('read')
  @ApiOkResponse({ type: ScheduleView })
  get(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @IdParam('sch', 'sid') sid: string,
  ): Promise<ScheduleView> {
    return this.schedules.get(caller, id, sid);
  }

  @Patch(':sid')
  @Scope('write')
  @ApiOkResponse({ type: ScheduleView })
  change(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @IdParam('sch', 'sid') sid: string,
    @Body() body: ChangeScheduleDto,
  ): Promise<ScheduleView> {
    return this.schedules.change(caller, id, sid, body);
  }

  @Delete(':sid')
  @Scope('write')
  @HttpCode(204)
  @ApiNoContentResponse()
  delete(@Caller() caller: Principal, @IdParam('srv') id: string, @IdParam('sch', 'sid') sid: string): Promise<void> {
    return this.schedules.delete(caller, id, sid);
  }

  @Post(':sid/execute')
  @Scope('write')
  @HttpCode(202)
  @ApiAcceptedResponse({ type: AcceptedRun })
  execute(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @IdParam('sch', 'sid') sid: string,
  ): Promise<AcceptedRun> {
    return this.schedules.execute(caller, id, sid);
  }

  @Get(':sid/runs')
  @Scope('read')
  @ApiOkResponse({ type: [RunView] })
  runs(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @IdParam('sch', 'sid') sid: string,
    @Query() query: PageQuery,
  ): Promise<Page<RunView>> {
    return this.schedules.history(caller, id, sid, query);
  }

  @Post(':sid/tasks')
  @Scope('write')
  @ApiCreatedResponse({ type: TaskView })
  addTask(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @IdParam('sch', 'sid') sid: string,
    @Body() body: CreateTaskDto,
  ): Promise<TaskView> {
    return this.schedules.addTask(caller, id, sid, body);
  }

  @Delete(':sid/tasks/:tid')
  @Scope('write')
  @HttpCode(204)
  @ApiNoContentResponse()
  removeTask(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @IdParam('sch', 'sid') sid: string,
    @IdParam('tsk', 'tid') tid: string,
  ): Promise<void> {
    return this.schedules.removeTask(caller, id, sid, tid);
  }
}
