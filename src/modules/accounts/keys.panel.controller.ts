import { Body, Delete, Get, HttpCode, Post, Query } from '@nestjs/common';
import { Caller } from '../../platform/auth/caller.decorator.js';
import { PanelApi } from '../../platform/auth/panel-api.decorator.js';
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
import { decodeCursor, Page, PageQuery } from '../../platform/http/page.js';
import { ApiKeysService, type ChangedBy } from './api-keys.service.js';
import { ApiKeyDto, CreateApiKeyDto, CreatedApiKeyDto } from './dto/api-key.dto.js';

/** API keys are made here and by the operator; the public surface has no such route, so that a key never makes a key. */
@PanelApi('keys')
export class KeysPanelController {
  constructor(private readonly keys: ApiKeysService) {}

  @Get()
  @Scope('read')
  @ApiOperation({ summary: 'API keys, newest first, revoked ones included' })
  @ApiOkResponse({ type: ApiKeyDto, isArray: true })
  async list(@Caller() caller: Principal, @Query() { limit, cursor }: PageQuery): Promise<Page<ApiKeyDto>> {
    const before = cursor === undefined ? undefined : String(decodeCursor(cursor, ['id'])[0]);
    return Page.of(await this.keys.list(caller.accountId, limit + 1, before), limit, (key) => [key.id]);
  }

  @Post()
  @Scope('write')
  @NotIdempotent()
  @ApiOperation({
    summary: 'Make an API key; the answer is the only place that shows it',
    description: 'At most 100 that are neither revoked nor expired.',
  })
  @ApiCreatedResponse({ type: CreatedApiKeyDto })
  create(@Caller() caller: Principal, @Body() body: CreateApiKeyDto): Promise<CreatedApiKeyDto> {
    const expiresAt = body.expiresAt ? new Date(body.expiresAt) : null;
    return this.keys.create(caller.accountId, { ...body, expiresAt }, changedBy(caller));
  }

  @Delete(':id')
  @HttpCode(204)
  @Scope('write')
  @ApiOperation({ summary: 'Revoke an API key; it is refused from the next request on' })
  @ApiNoContentResponse()
  async revoke(@Caller() caller: Principal, @IdParam('key') id: string): Promise<void> {
    await this.keys.revoke(caller.accountId, id, changedBy(caller));
  }
}

function changedBy({ via, accountId, address }: Principal): ChangedBy {
  return { actor: { type: via, id: accountId }, ip: address };
}
