import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { EngineError } from '../../../drivers/engine/engine.js';
import { Database, type Tx } from '../../../platform/database/database.js';
import {
  HandlesOperation,
  OperationHandler,
  RunAgain,
  type OperationFailure,
  type OperationStep,
} from '../../../platform/operations/operation-handler.js';
import { Operation } from '../../../platform/operations/operation.entity.js';
import { OperationsService } from '../../../platform/operations/operations.service.js';
import { BACKUP_OPERATIONS } from '../backups/backup.operations.js';
import { Server } from '../server.entity.js';
import { SERVER_OPERATIONS } from '../server.operations.js';
import type { ServerStatus } from '../server-status.js';
import { ServiceContainer } from './service-container.js';

const SETTLE_MS = 200;
const ENDS_STOPPED: ServerStatus[] = ['RUNNING', 'STARTING', 'STOPPING', 'CRASHED'];
const INSTALLATIONS: string[] = [SERVER_OPERATIONS.create, SERVER_OPERATIONS.reinstall];
/** What starts the program, or may do so at its end. */
const STARTS: string[] = [SERVER_OPERATIONS.power, BACKUP_OPERATIONS.restore];

/**
 * Ends a program at once, also while a stop or start of it is under way, or a backup is restored. That one is let finish, and
 * what it may have started is ended as well: whoever kills finds a stopped service. An installation is cut off as soon as it runs.
 */
@Injectable()
@HandlesOperation(SERVER_OPERATIONS.kill)
export class ServerKillWorker extends OperationHandler {
  constructor(
    private readonly database: Database,
    private readonly operations: OperationsService,
    private readonly container: ServiceContainer,
  ) {
    super();
  }

  steps({ resourceId }: Operation): OperationStep[] {
    return [
      { name: 'kill', run: () => this.container.kill(resourceId) },
      {
        name: 'settle',
        run: async () => {
          await this.othersToEnd(resourceId);
          await this.container.kill(resourceId);
        },
      },
    ];
  }

  async onDone(tx: Tx, { resourceId }: Operation): Promise<void> {
    const id = resourceId;
    await tx.manager.update(Server, { id, status: In(ENDS_STOPPED) }, { status: 'STOPPED', updatedAt: new Date() });
  }

  async onFailed(_tx: Tx, _operation: Operation, _failure: OperationFailure): Promise<void> {
    // The status stays what the other lane made of it.
  }

  /** None that starts the program begins while a kill is under way, so this comes to an end. */
  private async othersToEnd(serverId: string): Promise<void> {
    const other = await this.operations.active(this.database, serverId);
    if (!other) return;
    if (INSTALLATIONS.includes(other.type)) await this.cutOff(serverId);
    else if (!STARTS.includes(other.type)) return;
    throw new RunAgain(SETTLE_MS);
  }

  /**
   * An installation begins to run at its own time, so this is done again and again until it has ended. A container that is
   * just being made or removed may refuse; the last kill, when nobody else works on it, is the one that has to succeed.
   */
  private async cutOff(serverId: string): Promise<void> {
    try {
      await this.container.kill(serverId);
    } catch (error) {
      if (!(error instanceof EngineError) || error.code === 'unavailable') throw error;
    }
  }
}
