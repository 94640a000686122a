import { Body, Controller, HttpCode, Post, Req, UseGuards } from '@nestjs/common';
import type { Request } from 'express';
import { Unscoped } from '../../../platform/auth/scope.decorator.js';
import { BodyLimit } from '../../../platform/http/body.decorators.js';
import { NotIdempotent } from '../../../platform/http/idempotency.js';
import { ApiExcludeController } from '../../../platform/http/openapi-annotations.js';
import type { VaultReadsAnswer } from '../../../platform/internal-api/vault-reads.contract.js';
import { nodeOf, NodeTokenGuard } from '../../nodes/node-token.guard.js';
import { NodeReadsDto, ServedReadsDto } from '../dto/node-reads.dto.js';
import { NodeReads } from './node-reads.service.js';

/** What the secrets brokers of nodes ask and hand in. */
@Controller('internal/node/vault')
@ApiExcludeController()
@Unscoped('nodes carry a token of their own, and come by the private listener')
@UseGuards(NodeTokenGuard)
export class VaultReadsInternalController {
  constructor(private readonly reads: NodeReads) {}

  @Post('reads')
  @BodyLimit(1024 * 1024, 50_000)
  @HttpCode(200)
  @NotIdempotent()
  answer(@Req() request: Request, @Body() { reads, holds }: NodeReadsDto): Promise<VaultReadsAnswer> {
    return this.reads.answer(nodeOf(request).id, reads, holds);
  }

  @Post('served')
  @HttpCode(204)
  @BodyLimit(32 * 1024 * 1024, 1_000_000)
  served(@Req() request: Request, @Body() { reads }: ServedReadsDto): Promise<void> {
    return this.reads.served(nodeOf(request).id, reads);
  }
}
