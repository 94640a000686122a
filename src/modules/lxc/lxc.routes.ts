import { Body, Delete, Get, HttpCode, Patch, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Caller } from '../../platform/auth/caller.decorator.js';
import type { Principal } from '../../platform/auth/principal.js';
import { Scope } from '../../platform/auth/scope.decorator.js';
import { IdParam, WordParam } from '../../platform/http/id.pipe.js';
import {
  ApiAcceptedResponse,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
} from '../../platform/http/openapi-annotations.js';
import { Waitable } from '../../platform/http/wait-for.js';
import { AcceptedOperation } from '../../platform/operations/accepted-operation.dto.js';
import { ResourceUsage } from '../instances/usage-meter.service.js';
import { ConsoleAccess } from '../servers/console/console.service.js';
import { MachineConsoleService } from './console/machine-console.service.js';
import {
  AddMachinePortDto,
  CreateMachineDto,
  MachineDetail,
  MachineList,
  MachinePortView,
  ResizedMachine,
  ResizeMachineDto,
} from './dto/machine.dto.js';
import { MachinePowerService } from './machine-power.service.js';
import { MACHINE_POWER, type MachinePower } from './machine-status.js';
import { MachinesService } from './machines.service.js';
import { MachinePortsService } from './ports/machine-ports.service.js';
import { MachineResizeService } from './resize.service.js';
import { MachineUsageService } from './usage/machine-usage.service.js';

/** Routes of machines, the same on both surfaces. */
export abstract class LxcRoutes {
  constructor(
    private readonly machines: MachinesService,
    private readonly power: MachinePowerService,
    private readonly ports: MachinePortsService,
    private readonly resizing: MachineResizeService,
    private readonly usage: MachineUsageService,
    private readonly consoles: MachineConsoleService,
  ) {}

  @Get()
  @Scope('read')
  @ApiOkResponse({ type: MachineList })
  list(@Caller() caller: Principal): Promise<MachineList> {
    return this.machines.list(caller);
  }

  @Post()
  @Scope('write')
  @ApiCreatedResponse({ type: MachineDetail })
  async create(
    @Caller() caller: Principal,
    @Body() body: CreateMachineDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<MachineDetail> {
    const machine = await this.machines.create(caller, body);
    response.location(`${response.req.path.replace(/\/$/, '')}/${machine.id}`);
    return machine;
  }

  @Get(':id')
  @Scope('read')
  @Waitable()
  @ApiOkResponse({ type: MachineDetail })
  get(@Caller() caller: Principal, @IdParam('lxc') id: string): Promise<MachineDetail> {
    return this.machines.get(caller, id);
  }

  @Delete(':id')
  @Scope('write')
  @HttpCode(204)
  @ApiNoContentResponse()
  delete(@Caller() caller: Principal, @IdParam('lxc') id: string): Promise<void> {
    return this.machines.delete(caller, id);
  }

  @Post(':id/power/:action')
  @Scope('write')
  @HttpCode(202)
  @ApiAcceptedResponse({ type: AcceptedOperation })
  async sendPower(
    @Caller() caller: Principal,
    @IdParam('lxc') id: string,
    @WordParam('action', MACHINE_POWER) action: MachinePower,
  ): Promise<AcceptedOperation> {
    return { operationId: (await this.power.send(caller, id, action)).id };
  }

  @Post(':id/retry')
  @Scope('write')
  @HttpCode(202)
  @ApiAcceptedResponse({ type: AcceptedOperation })
  async retry(@Caller() caller: Principal, @IdParam('lxc') id: string): Promise<AcceptedOperation> {
    return { operationId: (await this.machines.retry(caller, id)).id };
  }

  @Post(':id/ports')
  @Scope('write')
  @ApiCreatedResponse({ type: MachinePortView })
  addPort(
    @Caller() caller: Principal,
    @IdParam('lxc') id: string,
    @Body() body: AddMachinePortDto,
  ): Promise<MachinePortView> {
    return this.ports.add(caller, id, body);
  }

  @Delete(':id/ports/:portId')
  @Scope('write')
  @HttpCode(204)
  @ApiNoContentResponse()
  removePort(
    @Caller() caller: Principal,
    @IdParam('lxc') id: string,
    @IdParam('prt', 'portId') portId: string,
  ): Promise<void> {
    return this.ports.remove(caller, id, portId);
  }

  @Get(':id/resources')
  @Scope('read')
  @ApiOkResponse({ type: ResourceUsage })
  resources(@Caller() caller: Principal, @IdParam('lxc') id: string): Promise<ResourceUsage> {
    return this.usage.get(caller, id);
  }

  @Patch(':id/resources')
  @Scope('write')
  @ApiOkResponse({ type: ResizedMachine })
  resize(
    @Caller() caller: Principal,
    @IdParam('lxc') id: string,
    @Body() body: ResizeMachineDto,
  ): Promise<ResizedMachine> {
    return this.resizing.resize(caller, id, body);
  }

  @Get(':id/console')
  @Scope('read')
  @ApiOkResponse({ type: ConsoleAccess })
  console(@Caller() caller: Principal, @IdParam('lxc') id: string): Promise<ConsoleAccess> {
    return this.consoles.open(caller, id);
  }
}
