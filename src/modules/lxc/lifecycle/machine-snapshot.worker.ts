import { Injectable } from '@nestjs/common';
import { Engine } from '../../../drivers/engine/engine.js';
import type { Tx } from '../../../platform/database/database.js';
import {
  HandlesOperation,
  OperationHandler,
  type OperationStep,
} from '../../../platform/operations/operation-handler.js';
import { Operation } from '../../../platform/operations/operation.entity.js';
import { tolerate } from '../../instances/lifecycle/instance-moves.service.js';
import { engineName, MACHINE_OPERATIONS, type SnapshotPayload } from '../machine.operations.js';
import { MachineSnapshot } from '../snapshots/machine-snapshot.entity.js';

/** Keeps a machine's disk as it is. */
@Injectable()
@HandlesOperation(MACHINE_OPERATIONS.snapshot)
export class MachineSnapshotWorker extends OperationHandler {
  constructor(private readonly engine: Engine) {
    super();
  }

  steps({ resourceId, payload }: Operation): OperationStep[] {
    const names = [engineName(resourceId), engineName((payload as SnapshotPayload).snapshotId)] as const;
    const run = () => tolerate('exists', this.engine.createSnapshot(...names));
    return [{ name: 'snapshot', run, undo: () => this.engine.deleteSnapshot(...names) }];
  }

  async onDone(tx: Tx, { payload }: Operation): Promise<void> {
    await tx.manager.update(MachineSnapshot, { id: (payload as SnapshotPayload).snapshotId }, { status: 'READY' });
  }

  async onFailed(tx: Tx, { payload }: Operation): Promise<void> {
    await tx.manager.delete(MachineSnapshot, { id: (payload as SnapshotPayload).snapshotId });
  }
}
