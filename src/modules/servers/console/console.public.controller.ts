import { PublicApi } from '../../../platform/auth/public-api.decorator.js';
import { ConsoleRoutes } from './console.routes.js';
import { ConsoleService } from './console.service.js';

@PublicApi('servers/:id/console', 'console')
export class ConsolePublicController extends ConsoleRoutes {
  constructor(consoles: ConsoleService) {
    super(consoles);
  }
}
