import { Injectable } from '@nestjs/common';
import { Not } from 'typeorm';
import type { Tx } from '../../../platform/database/database.js';
import { EventRecorder, SYSTEM } from '../../../platform/events/event-recorder.js';
import {
  HandlesOperation,
  OperationHandler,
  type OperationFailure,
  type OperationStep,
} from '../../../platform/operations/operation-handler.js';
import { Operation } from '../../../platform/operations/operation.entity.js';
import { PowerSlots } from '../../instances/lifecycle/power-slots.service.js';
import { Machine } from '../machine.entity.js';
import { MACHINE_OPERATIONS, type PowerPayload } from '../machine.operations.js';
import type { MachineStatus } from '../machine-status.js';
import { MachineContainer } from './machine-container.js';

/** Starts, stops and restarts machines. */
@Injectable()
@HandlesOperation(MACHINE_OPERATIONS.power)
export class MachinePowerWorker extends OperationHandler {
  constructor(
    private readonly container: MachineContainer,
    private readonly events: EventRecorder,
    private readonly atOnce: PowerSlots,
  ) {
    super();
  }

  steps({ resourceId, payload }: Operation): OperationStep[] {
    const start: OperationStep = { name: 'start', run: () => this.container.start(resourceId) };
    const stop: OperationStep = { name: 'stop', run: () => this.container.stop(resourceId) };
    return { start: [start], stop: [stop], restart: [stop, start] }[(payload as PowerPayload).action];
  }

  async onDone(tx: Tx, { resourceId: id, payload }: Operation): Promise<void> {
    const status = (payload as PowerPayload).action === 'stop' ? 'STOPPED' : 'RUNNING';
    await this.settle(tx, id, status);
  }

  /** What could not be started stands still; what could not be stopped, for a reason of the platform's, runs on. */
  async onFailed(tx: Tx, operation: Operation, { code }: OperationFailure): Promise<void> {
    const { accountId, resourceId, payload, step } = operation;
    const { action } = payload as PowerPayload;
    const status = step === 'stop' ? 'RUNNING' : 'STOPPED';
    await this.settle(tx, resourceId, status);
    const event = 'lxc:power.fail';
    await this.events.record(tx, { accountId, resourceId, event, properties: { action, code }, ...SYSTEM });
  }

  /** What stands still in the middle of a restart is not kept waiting. */
  override slots(step: string | null): PowerSlots | null {
    return step === null ? this.atOnce : null;
  }

  /** What was deleted meanwhile stays so. */
  private async settle(tx: Tx, id: string, status: MachineStatus): Promise<void> {
    await tx.manager.update(Machine, { id, status: Not('DELETING') }, { status, updatedAt: new Date() });
  }
}
