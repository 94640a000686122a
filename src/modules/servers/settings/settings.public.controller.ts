import { PublicApi } from '../../../platform/auth/public-api.decorator.js';
import { AlertsService } from './alerts.service.js';
import { CrashesService } from './crashes.service.js';
import { SettingsRoutes } from './settings.routes.js';
import { SettingsService } from './settings.service.js';

@PublicApi('servers/:id', 'settings')
export class SettingsPublicController extends SettingsRoutes {
  constructor(settings: SettingsService, alerts: AlertsService, crashes: CrashesService) {
    super(settings, alerts, crashes);
  }
}
