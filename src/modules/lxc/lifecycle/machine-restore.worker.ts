import { Injectable } from '@nestjs/common';
import { Engine, EngineError } from '../../../drivers/engine/engine.js';
import type { Tx } from '../../../platform/database/database.js';
import { EventRecorder, SYSTEM } from '../../../platform/events/event-recorder.js';
import {
  HandlesOperation,
  OperationFailed,
  OperationHandler,
  type OperationFailure,
  type OperationStep,
} from '../../../platform/operations/operation-handler.js';
import { Operation } from '../../../platform/operations/operation.entity.js';
import { Machine } from '../machine.entity.js';
import { engineName, MACHINE_OPERATIONS, type RestorePayload } from '../machine.operations.js';
import { MachineRepository } from '../machine.repository.js';
import { MachineSnapshot } from '../snapshots/machine-snapshot.entity.js';
import { MachineContainer } from './machine-container.js';

/** Puts a machine's disk back to what a snapshot kept. */
@Injectable()
@HandlesOperation(MACHINE_OPERATIONS.restore)
export class MachineRestoreWorker extends OperationHandler {
  constructor(
    private readonly engine: Engine,
    private readonly machines: MachineRepository,
    private readonly container: MachineContainer,
    private readonly events: EventRecorder,
  ) {
    super();
  }

  async steps({ resourceId, payload }: Operation): Promise<OperationStep[]> {
    const { snapshotId, wasRunning } = payload as RestorePayload;
    const machine = await this.machines.require(resourceId);
    const steps: OperationStep[] = [
      { name: 'stop', run: () => this.container.stop(machine.id) },
      // The engine puts back the limits and ports of then as well, and those may be somebody else's now.
      { name: 'restore', run: () => this.restore(machine.id, snapshotId), undo: () => this.putRight(machine) },
      { name: 'limits', run: () => this.container.setLimits(machine.id, machine) },
      { name: 'ports', run: () => this.container.setPorts(machine.id) },
    ];
    if (wasRunning) steps.push({ name: 'start', run: () => this.container.start(machine.id) });
    return steps;
  }

  async onDone(tx: Tx, operation: Operation): Promise<void> {
    const { wasRunning } = operation.payload as RestorePayload;
    await this.settle(tx, operation, wasRunning ? 'RUNNING' : 'STOPPED');
  }

  /** What could not even be stopped runs on. */
  async onFailed(tx: Tx, operation: Operation, { code }: OperationFailure): Promise<void> {
    const { accountId, resourceId, step } = operation;
    const { wasRunning } = operation.payload as RestorePayload;
    await this.settle(tx, operation, wasRunning && step === 'stop' ? 'RUNNING' : 'STOPPED');
    const event = 'lxc:snapshot.restore-fail';
    await this.events.record(tx, { accountId, resourceId, event, properties: { code }, ...SYSTEM });
  }

  private async restore(machineId: string, snapshotId: string): Promise<void> {
    try {
      await this.engine.restoreSnapshot(engineName(machineId), engineName(snapshotId));
    } catch (error) {
      if (error instanceof EngineError && error.code === 'not_found') {
        throw new OperationFailed('snapshot_gone', 'The engine does not have the snapshot any more.', { cause: error });
      }
      throw error;
    }
  }

  /** What is on the disk by now stays, also where it is more than the machine has: a resize makes room for it. */
  private async putRight(machine: Machine): Promise<void> {
    try {
      await this.container.setLimits(machine.id, machine);
    } catch (error) {
      if (!(error instanceof OperationFailed)) throw error;
    }
    await this.container.setPorts(machine.id);
  }

  private async settle(tx: Tx, { resourceId, payload }: Operation, status: 'RUNNING' | 'STOPPED'): Promise<void> {
    const { snapshotId } = payload as RestorePayload;
    await tx.manager.update(MachineSnapshot, { id: snapshotId }, { status: 'READY' });
    await tx.manager.update(Machine, { id: resourceId, status: 'RESTORING' }, { status, updatedAt: new Date() });
  }
}
