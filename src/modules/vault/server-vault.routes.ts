import { Body, Delete, Get, HttpCode, HttpStatus, Post, Put, Res } from '@nestjs/common';
import type { Response } from 'express';
import { Caller } from '../../platform/auth/caller.decorator.js';
import type { Principal } from '../../platform/auth/principal.js';
import { Scope } from '../../platform/auth/scope.decorator.js';
import { IdParam } from '../../platform/http/id.pipe.js';
import { NotIdempotent } from '../../platform/http/idempotency.js';
import {
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
} from '../../platform/http/openapi-annotations.js';
import { MakeTokenDto, PutSecretDto, RuntimeTokenView, SecretReadView, SecretView } from './dto/vault.dto.js';
import { VaultTokens } from './tokens/vault-tokens.service.js';
import { VaultService } from './vault.service.js';

/** Routes of a service's secrets, the same on both surfaces. None of them answers a value. */
export abstract class ServerVaultRoutes {
  constructor(
    protected readonly vault: VaultService,
    private readonly tokens: VaultTokens,
  ) {}

  @Get()
  @Scope('read')
  @ApiOperation({ summary: 'The secrets the service reads, those of the account included, without their values' })
  @ApiOkResponse({ type: [SecretView] })
  list(@Caller() caller: Principal, @IdParam('srv') id: string): Promise<SecretView[]> {
    return this.vault.list(caller, id);
  }

  @Put()
  @Scope('write')
  @ApiOperation({ summary: 'Make a secret, or replace the one of that key' })
  @ApiCreatedResponse({ type: SecretView })
  @ApiOkResponse({ type: SecretView })
  async put(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @Body() body: PutSecretDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<SecretView> {
    const { secret, isNew } = await this.vault.put(caller, id, body);
    response.status(isNew ? HttpStatus.CREATED : HttpStatus.OK);
    return secret;
  }

  @Delete(':secretId')
  @Scope('write')
  @HttpCode(204)
  @ApiNoContentResponse()
  delete(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @IdParam('sec', 'secretId') secretId: string,
  ): Promise<void> {
    return this.vault.delete(caller, id, secretId);
  }

  @Post(':secretId/seal')
  @Scope('write')
  @HttpCode(200)
  @ApiOperation({ summary: 'Seal a consultable secret: from then on nobody is shown its value' })
  @ApiOkResponse({ type: SecretView })
  seal(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @IdParam('sec', 'secretId') secretId: string,
  ): Promise<SecretView> {
    return this.vault.seal(caller, id, secretId);
  }

  /** The answer holds the token in clear, so it is not kept to be given again. */
  @Post('token')
  @Scope('write')
  @NotIdempotent()
  @ApiOperation({ summary: 'Make the runtime token of the service; the one before it is dead at once' })
  @ApiCreatedResponse({ type: RuntimeTokenView })
  token(
    @Caller() caller: Principal,
    @IdParam('srv') id: string,
    @Body() { addressLock = true }: MakeTokenDto,
  ): Promise<RuntimeTokenView> {
    return this.tokens.replace(caller, id, addressLock);
  }

  @Get('access')
  @Scope('read')
  @ApiOperation({ summary: 'The last 50 reads of the service’s secrets, the newest first' })
  @ApiOkResponse({ type: [SecretReadView] })
  access(@Caller() caller: Principal, @IdParam('srv') id: string): Promise<SecretReadView[]> {
    return this.vault.access(caller, id);
  }
}
