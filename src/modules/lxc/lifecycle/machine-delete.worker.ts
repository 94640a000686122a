import { Injectable } from '@nestjs/common';
import { Database, type Tx } from '../../../platform/database/database.js';
import {
  HandlesOperation,
  OperationHandler,
  RunAgain,
  type OperationStep,
} from '../../../platform/operations/operation-handler.js';
import { Operation } from '../../../platform/operations/operation.entity.js';
import { OperationsService } from '../../../platform/operations/operations.service.js';
import { InstanceMoves } from '../../instances/lifecycle/instance-moves.service.js';
import { MachineNetwork } from '../machine-network.service.js';
import { Machine } from '../machine.entity.js';
import { engineName, MACHINE_OPERATIONS } from '../machine.operations.js';
import { MachineContainer } from './machine-container.js';

const WAIT_MS = 200;

/** Removes everything of a deleted machine; its row goes last, and its ports and snapshots with it. */
@Injectable()
@HandlesOperation(MACHINE_OPERATIONS.delete)
export class MachineDeleteWorker extends OperationHandler {
  constructor(
    private readonly database: Database,
    private readonly operations: OperationsService,
    private readonly moves: InstanceMoves,
    private readonly container: MachineContainer,
    private readonly network: MachineNetwork,
  ) {
    super();
  }

  steps({ resourceId }: Operation): OperationStep[] {
    return [
      { name: 'wait', run: () => this.othersToEnd(resourceId) },
      { name: 'instance', run: () => this.container.remove(resourceId) },
    ];
  }

  async onDone(tx: Tx, { resourceId }: Operation): Promise<void> {
    await this.network.release(tx, resourceId);
    await tx.manager.delete(Machine, { id: resourceId });
  }

  /** The row stays `DELETING`, out of the account's sight; the operators are told by the log and can retry it. */
  async onFailed(): Promise<void> {}

  private async othersToEnd(machineId: string): Promise<void> {
    const other = await this.operations.active(this.database, machineId);
    if (!other || (await this.operations.cancel(this.database, other))) return;
    await this.moves.kill(engineName(machineId));
    throw new RunAgain(WAIT_MS);
  }
}
