import { PanelApi } from '../../platform/auth/panel-api.decorator.js';
import { AccountsService } from './accounts.service.js';
import { MeRoutes } from './me.routes.js';

@PanelApi('me', 'account')
export class MePanelController extends MeRoutes {
  constructor(protected readonly accounts: AccountsService) {
    super();
  }
}
