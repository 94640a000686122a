import { Body, Controller, HttpCode, Param, Post, Req, UseGuards } from '@nestjs/common';
import type { Request } from 'express';
import { Unscoped } from '../../../platform/auth/scope.decorator.js';
import { BodyLimit } from '../../../platform/http/body.decorators.js';
import { ApiExcludeController } from '../../../platform/http/openapi-annotations.js';
import type { SessionsAnswer } from '../../../platform/internal-api/internal-api.contract.js';
import { nodeOf, NodeTokenGuard } from '../../nodes/node-token.guard.js';
import { LiveSessionsDto, NodeActivityDto, NodePowerDto } from './dto/node-sessions.dto.js';
import { LiveSessionsService } from './live-sessions.service.js';

/** What people do on consoles and files, as nodes tell it. */
@Controller('internal/node')
@ApiExcludeController()
@Unscoped('nodes carry a token of their own, and come by the private listener')
@UseGuards(NodeTokenGuard)
export class LiveSessionsInternalController {
  constructor(private readonly sessions: LiveSessionsService) {}

  @Post('sessions')
  @HttpCode(200)
  @BodyLimit(4 * 1024 * 1024, 200_000)
  review(@Req() request: Request, @Body() { sessions }: LiveSessionsDto): Promise<SessionsAnswer> {
    return this.sessions.review(nodeOf(request).id, sessions);
  }

  @Post('activity')
  @BodyLimit(1024 * 1024, 50_000)
  @HttpCode(204)
  record(@Req() request: Request, @Body() { serverId, entries }: NodeActivityDto): Promise<void> {
    return this.sessions.record(nodeOf(request).id, serverId, entries);
  }

  @Post('servers/:id/power')
  @HttpCode(204)
  power(@Req() request: Request, @Param('id') id: string, @Body() body: NodePowerDto): Promise<void> {
    return this.sessions.signal(nodeOf(request).id, id, body);
  }
}
