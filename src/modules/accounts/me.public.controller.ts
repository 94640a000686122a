import { PublicApi } from '../../platform/auth/public-api.decorator.js';
import { AccountsService } from './accounts.service.js';
import { MeRoutes } from './me.routes.js';

@PublicApi('me', 'account')
export class MePublicController extends MeRoutes {
  constructor(protected readonly accounts: AccountsService) {
    super();
  }
}
