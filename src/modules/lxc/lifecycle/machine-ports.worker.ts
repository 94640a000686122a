import { Injectable } from '@nestjs/common';
import { EngineError } from '../../../drivers/engine/engine.js';
import type { Tx } from '../../../platform/database/database.js';
import {
  HandlesOperation,
  OperationFailed,
  OperationHandler,
  type OperationStep,
} from '../../../platform/operations/operation-handler.js';
import { Operation } from '../../../platform/operations/operation.entity.js';
import { MACHINE_OPERATIONS, type PortsPayload } from '../machine.operations.js';
import { MachinePort } from '../ports/machine-port.entity.js';
import { MachineContainer } from './machine-container.js';

/** Opens and closes redirections to a machine, live where it runs. */
@Injectable()
@HandlesOperation(MACHINE_OPERATIONS.ports)
export class MachinePortsWorker extends OperationHandler {
  constructor(private readonly container: MachineContainer) {
    super();
  }

  steps({ resourceId, payload }: Operation): OperationStep[] {
    const { portId, change } = payload as PortsPayload;
    const undo = async () => (change === 'add' ? this.container.setPorts(resourceId, portId) : undefined);
    return [{ name: 'ports', run: () => this.open(resourceId), undo }];
  }

  /** Only now that the engine has let go of it may somebody else get the port. */
  async onDone(tx: Tx, { payload }: Operation): Promise<void> {
    const { portId, change } = payload as PortsPayload;
    if (change === 'remove') await tx.manager.delete(MachinePort, { id: portId });
    else await tx.manager.update(MachinePort, { id: portId, status: 'PENDING' }, { status: 'ACTIVE' });
  }

  async onFailed(tx: Tx, { payload }: Operation): Promise<void> {
    const { portId, change } = payload as PortsPayload;
    if (change === 'add') await tx.manager.delete(MachinePort, { id: portId });
    else await tx.manager.update(MachinePort, { id: portId }, { status: 'ACTIVE' });
  }

  private async open(machineId: string): Promise<void> {
    try {
      await this.container.setPorts(machineId);
    } catch (error) {
      if (error instanceof EngineError && (error.code === 'failed' || error.code === 'conflict')) {
        throw new OperationFailed('port_taken', 'The port is in use on the node.', { cause: error });
      }
      throw error;
    }
  }
}
