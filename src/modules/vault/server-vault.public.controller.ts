import { PublicApi } from '../../platform/auth/public-api.decorator.js';
import { ServerVaultRoutes } from './server-vault.routes.js';
import { VaultTokens } from './tokens/vault-tokens.service.js';
import { VaultService } from './vault.service.js';

@PublicApi('servers/:id/vault', 'vault')
export class ServerVaultPublicController extends ServerVaultRoutes {
  constructor(vault: VaultService, tokens: VaultTokens) {
    super(vault, tokens);
  }
}
