import { PublicApi } from '../../platform/auth/public-api.decorator.js';
import { NotificationsRoutes } from './notifications.routes.js';
import { NotificationsService } from './notifications.service.js';

@PublicApi('notifications')
export class NotificationsPublicController extends NotificationsRoutes {
  constructor(notifications: NotificationsService) {
    super(notifications);
  }
}
