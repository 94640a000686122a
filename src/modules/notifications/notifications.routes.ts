import { Get, Query } from '@nestjs/common';
import { Caller } from '../../platform/auth/caller.decorator.js';
import type { Principal } from '../../platform/auth/principal.js';
import { Scope } from '../../platform/auth/scope.decorator.js';
import { ApiOkResponse } from '../../platform/http/openapi-annotations.js';
import { PageQuery, type Page } from '../../platform/http/page.js';
import { NotificationView } from './notification.dto.js';
import { NotificationsService } from './notifications.service.js';

/** What the account was told, or was to be told, on the chat platform. */
export abstract class NotificationsRoutes {
  constructor(private readonly notifications: NotificationsService) {}

  @Get()
  @Scope('read')
  @ApiOkResponse({ type: [NotificationView] })
  list(@Caller() caller: Principal, @Query() query: PageQuery): Promise<Page<NotificationView>> {
    return this.notifications.list(caller, query);
  }
}
