import { Injectable } from '@nestjs/common';
import type { Tx } from '../../platform/database/database.js';
import { stateConflict } from '../../platform/errors/domain-error.js';
import { OperationsService } from '../../platform/operations/operations.service.js';
import { ALLOWED_ACTIONS, type ServerAction } from './server-status.js';
import type { Server } from './server.entity.js';
import { KILL_LANE } from './server.operations.js';

/** Refuses what a service's state does not allow, and what would have to wait for another operation on it. */
@Injectable()
export class ServerGate {
  constructor(private readonly operations: OperationsService) {}

  async mustAllow(tx: Tx, server: Server, action: ServerAction): Promise<void> {
    if (ALLOWED_ACTIONS[server.status][action] !== 'run') throw stateConflict(action, server.status);
    await this.operations.mustBeFree(tx, server);
    // A kill under way would end what this brings up.
    await this.operations.mustBeFree(tx, server, KILL_LANE);
  }
}
