import { Injectable } from '@nestjs/common';
import { Config } from '../../../config/config.js';
import type { Principal } from '../../../platform/auth/principal.js';
import { ACTING, WATCHING } from '../../../platform/internal-api/console-token.js';
import { AccessService } from '../../accounts/access.service.js';
import { NodesService } from '../../nodes/nodes.service.js';
import { ServerRepository } from '../server.repository.js';
import { ConsoleTokens } from './console-tokens.service.js';
import type { ConsoleAccess } from './dto/console.dto.js';

export { ConsoleAccess } from './dto/console.dto.js';

/** What a console is of. */
export interface ConsoleTarget {
  id: string;
  uuid: string;
  nodeId: string;
}

/** Lets callers into the live console of a service. */
@Injectable()
export class ConsoleService {
  constructor(
    private readonly config: Config,
    private readonly servers: ServerRepository,
    private readonly nodes: NodesService,
    private readonly access: AccessService,
    private readonly tokens: ConsoleTokens,
  ) {}

  async open(caller: Principal, id: string): Promise<ConsoleAccess> {
    return this.openFor(caller, await this.servers.findOwned(caller.accountId, id));
  }

  /** The same for anything that has a console: its owner was looked at. */
  async openFor(caller: Principal, { id, uuid, nodeId }: ConsoleTarget): Promise<ConsoleAccess> {
    const { accountId, via, keyId, scopes } = caller;
    const sessionGeneration = via === 'session' ? await this.access.sessionGeneration(accountId) : null;
    const { token, expiresAt } = await this.tokens.sign(nodeId, {
      serverId: id,
      serverUuid: uuid,
      accountId,
      via,
      keyId,
      sessionGeneration,
      permissions: scopes.has('write') ? ACTING : WATCHING,
    });
    return { token, socket: await this.socketOf({ nodeId, uuid }), expiresAt };
  }

  /** Address of the console's WebSocket. */
  async socketOf({ nodeId, uuid }: Pick<ConsoleTarget, 'nodeId' | 'uuid'>): Promise<string> {
    const { consoleUrl } = await this.nodes.find(nodeId);
    return `${consoleUrl ?? this.config.consoleUrl}/api/servers/${uuid}/ws`;
  }
}
