import { PanelApi } from '../../platform/auth/panel-api.decorator.js';
import { ActivityService } from './activity/activity.service.js';
import { InstallationService } from './install/installation.service.js';
import { PowerService } from './power/power.service.js';
import { ResizeService } from './resize/resize.service.js';
import { ServersRoutes } from './servers.routes.js';
import { ServersService } from './servers.service.js';
import { StartupService } from './startup/startup.service.js';
import { UsageService } from './usage/usage.service.js';

@PanelApi('servers')
export class ServersPanelController extends ServersRoutes {
  constructor(
    servers: ServersService,
    power: PowerService,
    startup: StartupService,
    usage: UsageService,
    installations: InstallationService,
    resizing: ResizeService,
    activities: ActivityService,
  ) {
    super(servers, power, startup, usage, installations, resizing, activities);
  }
}
