import { PanelApi } from '../../../platform/auth/panel-api.decorator.js';
import { ConsoleRoutes } from './console.routes.js';
import { ConsoleService } from './console.service.js';

@PanelApi('servers/:id/console', 'console')
export class ConsolePanelController extends ConsoleRoutes {
  constructor(consoles: ConsoleService) {
    super(consoles);
  }
}
