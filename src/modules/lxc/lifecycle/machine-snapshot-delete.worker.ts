import { Injectable } from '@nestjs/common';
import { Engine } from '../../../drivers/engine/engine.js';
import type { Tx } from '../../../platform/database/database.js';
import {
  HandlesOperation,
  OperationHandler,
  type OperationStep,
} from '../../../platform/operations/operation-handler.js';
import { Operation } from '../../../platform/operations/operation.entity.js';
import { engineName, MACHINE_OPERATIONS, type SnapshotPayload } from '../machine.operations.js';
import { MachineSnapshot } from '../snapshots/machine-snapshot.entity.js';

/** Removes what was kept of a machine's disk; the row goes last. */
@Injectable()
@HandlesOperation(MACHINE_OPERATIONS.snapshotDelete)
export class MachineSnapshotDeleteWorker extends OperationHandler {
  constructor(private readonly engine: Engine) {
    super();
  }

  steps({ resourceId, payload }: Operation): OperationStep[] {
    const snapshot = engineName((payload as SnapshotPayload).snapshotId);
    return [{ name: 'remove', run: () => this.engine.deleteSnapshot(engineName(resourceId), snapshot) }];
  }

  async onDone(tx: Tx, { payload }: Operation): Promise<void> {
    await tx.manager.delete(MachineSnapshot, { id: (payload as SnapshotPayload).snapshotId });
  }

  /** It is there still, so it is shown again. */
  async onFailed(tx: Tx, { payload }: Operation): Promise<void> {
    await tx.manager.update(MachineSnapshot, { id: (payload as SnapshotPayload).snapshotId }, { status: 'READY' });
  }
}
