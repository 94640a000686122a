import { Get } from '@nestjs/common';
import { Caller } from '../../platform/auth/caller.decorator.js';
import { PanelApi } from '../../platform/auth/panel-api.decorator.js';
import type { Principal } from '../../platform/auth/principal.js';
import { Scope } from '../../platform/auth/scope.decorator.js';
import { IdParam } from '../../platform/http/id.pipe.js';
import { ApiOkResponse, ApiOperation } from '../../platform/http/openapi-annotations.js';
import { AccountVaultRoutes } from './account-vault.routes.js';
import { SecretValueView } from './dto/vault.dto.js';
import { VaultService } from './vault.service.js';

@PanelApi('vault')
export class AccountVaultPanelController extends AccountVaultRoutes {
  constructor(vault: VaultService) {
    super(vault);
  }

  @Get(':secretId/value')
  @Scope('read')
  @ApiOperation({ summary: 'The value of a consultable secret; that it was shown is recorded' })
  @ApiOkResponse({ type: SecretValueView })
  reveal(@Caller() caller: Principal, @IdParam('sec', 'secretId') secretId: string): Promise<SecretValueView> {
    return this.vault.reveal(caller, null, secretId);
  }
}
