import { Body, Controller, HttpCode, Post, Req, UseGuards } from '@nestjs/common';
import type { Request } from 'express';
import { Unscoped } from '../../../platform/auth/scope.decorator.js';
import { NotIdempotent } from '../../../platform/http/idempotency.js';
import { ApiExcludeController } from '../../../platform/http/openapi-annotations.js';
import type { SftpLoginAnswer } from '../../../platform/internal-api/internal-api.contract.js';
import { nodeOf, NodeTokenGuard } from '../../nodes/node-token.guard.js';
import { SftpLoginDto } from './dto/sftp.dto.js';
import { SftpLoginService } from './sftp-login.service.js';

/** What nodes ask when somebody wants to see files. */
@Controller('internal/node/sftp')
@ApiExcludeController()
@Unscoped('nodes carry a token of their own, and come by the private listener')
@UseGuards(NodeTokenGuard)
export class SftpLoginInternalController {
  constructor(private readonly logins: SftpLoginService) {}

  @Post('login')
  @HttpCode(200)
  @NotIdempotent()
  login(@Req() request: Request, @Body() body: SftpLoginDto): Promise<SftpLoginAnswer> {
    return this.logins.login(nodeOf(request).id, body);
  }
}
