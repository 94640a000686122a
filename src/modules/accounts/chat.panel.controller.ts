import { Body, Get, Put } from '@nestjs/common';
import { Caller } from '../../platform/auth/caller.decorator.js';
import { PanelApi } from '../../platform/auth/panel-api.decorator.js';
import type { Principal } from '../../platform/auth/principal.js';
import { Scope } from '../../platform/auth/scope.decorator.js';
import { ApiOkResponse, ApiOperation } from '../../platform/http/openapi-annotations.js';
import { ChatAddressService } from './chat-address.service.js';
import { ChatAddressDto, SetChatAddressDto } from './dto/chat-address.dto.js';

/** Where private messages go. In the panel only: a key that leaks must not turn them elsewhere. */
@PanelApi('me/chat', 'account')
export class ChatPanelController {
  constructor(private readonly chat: ChatAddressService) {}

  @Get()
  @Scope('read')
  @ApiOperation({ summary: 'Where private messages to the account go' })
  @ApiOkResponse({ type: ChatAddressDto })
  async get(@Caller() caller: Principal): Promise<ChatAddressDto> {
    return { userId: await this.chat.get(caller) };
  }

  @Put()
  @Scope('write')
  @ApiOperation({ summary: 'Say where private messages to the account go' })
  @ApiOkResponse({ type: ChatAddressDto })
  async set(@Caller() caller: Principal, @Body() { userId }: SetChatAddressDto): Promise<ChatAddressDto> {
    await this.chat.set(caller, userId);
    return { userId };
  }
}
