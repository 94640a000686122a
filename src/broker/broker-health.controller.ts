import { Controller, Get, Req } from '@nestjs/common';
import type { Request } from 'express';
import { callerOf } from './broker-gate.js';

@Controller('v1')
export class BrokerHealthController {
  /** Tells the calling service that the broker knows it. */
  @Get('health')
  health(@Req() request: Request): { ok: boolean; service: string } {
    return { ok: true, service: callerOf(request).serverId };
  }
}
