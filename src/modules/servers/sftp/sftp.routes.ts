import { HttpCode, Post } from '@nestjs/common';
import { Caller } from '../../../platform/auth/caller.decorator.js';
import type { Principal } from '../../../platform/auth/principal.js';
import { Scope } from '../../../platform/auth/scope.decorator.js';
import { IdParam } from '../../../platform/http/id.pipe.js';
import { NotIdempotent } from '../../../platform/http/idempotency.js';
import { ApiOkResponse } from '../../../platform/http/openapi-annotations.js';
import { SftpPasswordView } from './dto/sftp.dto.js';
import { SftpAccessService } from './sftp-access.service.js';

/** Routes of the access to a service's files, the same on both surfaces. */
export abstract class SftpRoutes {
  constructor(private readonly access: SftpAccessService) {}

  /** The answer holds a secret, so it is not kept to be given again. */
  @Post('rotate-password')
  @Scope('write')
  @HttpCode(200)
  @NotIdempotent()
  @ApiOkResponse({ type: SftpPasswordView })
  rotatePassword(@Caller() caller: Principal, @IdParam('srv') id: string): Promise<SftpPasswordView> {
    return this.access.rotatePassword(caller, id);
  }
}
