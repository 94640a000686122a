import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database } from '../../../platform/database/database.js';
import { actorOf, EventRecorder } from '../../../platform/events/event-recorder.js';
import { ServerDirectory } from '../../servers/server-directory.service.js';
import type { RuntimeTokenView } from '../dto/vault.dto.js';
import { newRuntimeToken } from './runtime-token.js';

const REPLACE = `
  INSERT INTO vault_tokens (server_id, token_hash, prefix, address_lock, created_at) VALUES (?, ?, ?, ?, ?)
  ON DUPLICATE KEY UPDATE token_hash = VALUES(token_hash), prefix = VALUES(prefix), address_lock = VALUES(address_lock),
    created_at = VALUES(created_at)`;

/** Makes the runtime tokens of services. */
@Injectable()
export class VaultTokens {
  constructor(
    private readonly database: Database,
    private readonly servers: ServerDirectory,
    private readonly events: EventRecorder,
  ) {}

  /** The one before it is dead from the commit on. */
  async replace(caller: Principal, serverId: string, addressLock: boolean): Promise<RuntimeTokenView> {
    const { token, prefix, hash } = newRuntimeToken();
    const { accountId } = caller;
    const createdAt = new Date();
    await this.database.transaction(async (tx) => {
      await this.servers.mustOwn(tx, accountId, serverId);
      await tx.manager.query(REPLACE, [serverId, hash, prefix, addressLock, createdAt]);
      const event = {
        accountId,
        resourceId: serverId,
        event: 'server:vault.token',
        properties: { prefix, addressLock },
      };
      await this.events.record(tx, { ...event, ...actorOf(caller) });
    });
    return { token, addressLock, createdAt };
  }
}
