import { Body, Delete, Get, HttpCode, HttpStatus, Post, Put, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Caller } from '../../platform/auth/caller.decorator.js';
import type { Principal } from '../../platform/auth/principal.js';
import { Scope } from '../../platform/auth/scope.decorator.js';
import { IdParam } from '../../platform/http/id.pipe.js';
import {
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
} from '../../platform/http/openapi-annotations.js';
import { PutSecretDto, SecretView } from './dto/vault.dto.js';
import { VaultService } from './vault.service.js';

/** Routes of the secrets that all services of an account have, the same on both surfaces. None of them answers a value. */
export abstract class AccountVaultRoutes {
  constructor(protected readonly vault: VaultService) {}

  @Get()
  @Scope('read')
  @ApiOperation({ summary: 'The secrets of the account, without their values' })
  @ApiOkResponse({ type: [SecretView] })
  list(@Caller() caller: Principal): Promise<SecretView[]> {
    return this.vault.list(caller, null);
  }

  @Put()
  @Scope('write')
  @ApiOperation({ summary: 'Make a secret, or replace the one of that key' })
  @ApiCreatedResponse({ type: SecretView })
  @ApiOkResponse({ type: SecretView })
  async put(
    @Caller() caller: Principal,
    @Body() body: PutSecretDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<SecretView> {
    const { secret, isNew } = await this.vault.put(caller, null, body);
    response.status(isNew ? HttpStatus.CREATED : HttpStatus.OK);
    return secret;
  }

  @Delete(':secretId')
  @Scope('write')
  @HttpCode(204)
  @ApiNoContentResponse()
  delete(@Caller() caller: Principal, @IdParam('sec', 'secretId') secretId: string): Promise<void> {
    return this.vault.delete(caller, null, secretId);
  }

  @Post(':secretId/seal')
  @Scope('write')
  @HttpCode(200)
  @ApiOperation({ summary: 'Seal a consultable secret: from then on nobody is shown its value' })
  @ApiOkResponse({ type: SecretView })
  seal(@Caller() caller: Principal, @IdParam('sec', 'secretId') secretId: string): Promise<SecretView> {
    return this.vault.seal(caller, null, secretId);
  }
}
