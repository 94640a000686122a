import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
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
import { Server } from '../server.entity.js';
import { SERVER_OPERATIONS } from '../server.operations.js';
import type { ServerStatus } from '../server-status.js';
import { ServiceContainer } from './service-container.js';

const SETTLE_MS = 200;
const ENDS_STOPPED: ServerStatus[] = ['RUNNING', 'STARTING', 'STOPPING', 'CRASHED'];

/**
 * Ends a program at once, also while a stop or start of it is under way. That one is let finish, and what it may have
 * started is ended as well: whoever kills finds a stopped service.
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
          const other = await this.operations.active(this.database, resourceId);
          if (other?.type === SERVER_OPERATIONS.power) throw new RunAgain(SETTLE_MS);
          if (!other) await this.container.kill(resourceId);
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
}
