import { PanelApi } from '../../platform/auth/panel-api.decorator.js';
import { NotificationsRoutes } from './notifications.routes.js';
import { NotificationsService } from './notifications.service.js';

@PanelApi('notifications')
export class NotificationsPanelController extends NotificationsRoutes {
  constructor(notifications: NotificationsService) {
    super(notifications);
  }
}
