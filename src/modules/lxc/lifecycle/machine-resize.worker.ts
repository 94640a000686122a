import { Injectable } from '@nestjs/common';
import type { Tx } from '../../../platform/database/database.js';
import {
  HandlesOperation,
  OperationHandler,
  type OperationStep,
} from '../../../platform/operations/operation-handler.js';
import { Operation } from '../../../platform/operations/operation.entity.js';
import { Machine } from '../machine.entity.js';
import { MACHINE_OPERATIONS, type ResizePayload } from '../machine.operations.js';
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
    return [{ name: 'limits', run: () => this.container.setLimits(resourceId, to), undo }];
  }

  async onDone(): Promise<void> {
    // The rows have had the new limits since the resize was accepted.
  }

  async onFailed(tx: Tx, { resourceId, payload }: Operation): Promise<void> {
    const { from } = payload as ResizePayload;
    await tx.manager.update(Machine, { id: resourceId }, { ...from, updatedAt: new Date() });
  }
}
