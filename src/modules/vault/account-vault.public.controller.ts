import { PublicApi } from '../../platform/auth/public-api.decorator.js';
import { AccountVaultRoutes } from './account-vault.routes.js';
import { VaultService } from './vault.service.js';

@PublicApi('vault')
export class AccountVaultPublicController extends AccountVaultRoutes {
  constructor(vault: VaultService) {
    super(vault);
  }
}
