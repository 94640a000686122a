import { Body, Controller, HttpCode, Param, Post, Req, UseGuards } from '@nestjs/common';
import type { Request } from 'express';
import { Unscoped } from '../../../platform/auth/scope.decorator.js';
import { BodyLimit } from '../../../platform/http/body.decorators.js';
import { ApiExcludeController } from '../../../platform/http/openapi-annotations.js';
import type { InstanceStoppedAnswer, NodeReportAnswer } from '../../../platform/internal-api/internal-api.contract.js';
import { nodeOf, NodeTokenGuard } from '../../nodes/node-token.guard.js';
import { NodesService } from '../../nodes/nodes.service.js';
import { InstanceWatchers } from '../../instances/instance-watchers.service.js';
import { serverIdOf } from '../server.operations.js';
import { ConsoleTokens } from '../console/console-tokens.service.js';
import { InstanceEndDto, NodeReportDto } from './node-report.dto.js';
import { ServerObserver } from './server-observer.service.js';

/** What nodes tell of the programs they run. */
@Controller('internal/node')
@ApiExcludeController()
@Unscoped('nodes carry a token of their own, and come by the private listener')
@UseGuards(NodeTokenGuard)
export class NodeReportInternalController {
  constructor(
    private readonly nodes: NodesService,
    private readonly observer: ServerObserver,
    private readonly consoles: ConsoleTokens,
    private readonly watchers: InstanceWatchers,
  ) {}

  @Post('report')
  @HttpCode(200)
  @BodyLimit(4 * 1024 * 1024, 200_000)
  async report(
    @Req() request: Request,
    @Body() { agentVersion, instances, consoleUrl }: NodeReportDto,
  ): Promise<NodeReportAnswer> {
    const node = nodeOf(request);
    await this.nodes.seen(node.id, agentVersion, request.socket.remoteAddress ?? null, consoleUrl ?? null);
    await this.watchers.seen(node.id, instances);
    return {
      howEnded: await this.observer.compare(node.id, instances),
      consoleKey: this.consoles.keyText(node.id),
    };
  }

  @Post('instances/:name/stopped')
  @HttpCode(200)
  async stopped(@Req() request: Request, @Param('name') name: string): Promise<InstanceStoppedAnswer> {
    const serverId = serverIdOf(name);
    await this.watchers.stopped(nodeOf(request).id, name);
    return { howEnded: serverId !== null && (await this.observer.isUnasked(nodeOf(request).id, serverId)) };
  }

  @Post('instances/:name/ended')
  @HttpCode(204)
  async ended(
    @Req() request: Request,
    @Param('name') name: string,
    @Body() { exit, output = null, usage = null }: InstanceEndDto,
  ): Promise<void> {
    const serverId = serverIdOf(name);
    const traces = { output, usage: usage && { ...usage, at: new Date(usage.at) } };
    if (serverId !== null) await this.observer.ended(nodeOf(request).id, serverId, exit, traces);
  }
}
