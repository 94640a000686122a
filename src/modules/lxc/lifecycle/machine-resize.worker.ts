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
import { Machine } from '../machine.entity.js';
import { MACHINE_OPERATIONS, type MachineSize, type ResizePayload } from '../machine.operations.js';
import { MachineContainer } from './machine-container.js';

/** Gives a machine its new limits, live where it runs. */
@Injectable()
@HandlesOperation(MACHINE_OPERATIONS.resize)
export class MachineResizeWorker extends OperationHandler {
  constructor(private readonly container: MachineContainer) {
    super();
  }

  steps({ resourceId, payload }: Operation): OperationStep[] {
    const { from, to } = payload as ResizePayload;
    const undo = () => this.container.setLimits(resourceId, from);
    return [{ name: 'limits', run: () => this.limit(resourceId, to), undo }];
  }

  async onDone(): Promise<void> {
    // The rows have had the new limits since the resize was accepted.
  }

  async onFailed(tx: Tx, { resourceId, payload }: Operation): Promise<void> {
    const { from } = payload as ResizePayload;
    await tx.manager.update(Machine, { id: resourceId }, { ...from, updatedAt: new Date() });
  }

  private async limit(machineId: string, size: MachineSize): Promise<void> {
    try {
      await this.container.setLimits(machineId, size);
    } catch (error) {
      if (error instanceof EngineError && error.code === 'conflict') {
        const detail = 'The disk cannot be made smaller than what is in use.';
        throw new OperationFailed('disk_in_use', detail, { cause: error });
      }
      throw error;
    }
  }
}
