import { Controller, Get, HttpStatus, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Unscoped } from '../auth/scope.decorator.js';
import { ApiExcludeController } from '../http/openapi-annotations.js';
import { Health, type HealthReport } from './health.js';

/** For load balancers and operators. Names of parts only: what is wrong with one stands in the log. */
@Controller('health')
@ApiExcludeController()
@Unscoped('probes carry no credentials')
export class HealthController {
  constructor(private readonly health: Health) {}

  @Get('live')
  live(): { ok: boolean } {
    return { ok: true };
  }

  @Get(['', 'ready'])
  async ready(@Res({ passthrough: true }) response: Response): Promise<HealthReport> {
    const report = await this.health.report();
    if (!report.ok) response.status(HttpStatus.SERVICE_UNAVAILABLE);
    return report;
  }
}
