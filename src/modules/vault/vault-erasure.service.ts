import { Injectable } from '@nestjs/common';
import type { Tx } from '../../platform/database/database.js';
import { serverScope } from './store/scope-name.js';
import { VaultScope } from './store/vault-scope.entity.js';
import { VaultToken } from './tokens/vault-token.entity.js';
import { VaultAnchor } from './vault-anchor.service.js';

/** Puts an end to the secrets of a service. */
@Injectable()
export class VaultErasure {
  constructor(private readonly anchor: VaultAnchor) {}

  /** The wrapped seed goes with the rest: no copy of the values can be opened any more. */
  async erase(tx: Tx, serverId: string): Promise<void> {
    const scope = serverScope(serverId);
    await tx.manager.delete(VaultToken, { serverId });
    await tx.manager.delete(VaultScope, { scope });
    tx.afterCommit(() => this.anchor.forget(scope));
  }
}
