import { Injectable } from '@nestjs/common';
import { EngineError } from '../../../drivers/engine/engine.js';
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
import { CreationSlots } from '../../instances/lifecycle/creation-slots.service.js';
import { Machine } from '../machine.entity.js';
import { MACHINE_OPERATIONS } from '../machine.operations.js';
import { MachineRepository } from '../machine.repository.js';
import { MachineContainer } from './machine-container.js';

/** Makes a machine's container, or one whose creation failed, and starts it. */
@Injectable()
@HandlesOperation(MACHINE_OPERATIONS.create)
export class MachineCreateWorker extends OperationHandler {
  constructor(
    private readonly machines: MachineRepository,
    private readonly container: MachineContainer,
    private readonly events: EventRecorder,
    private readonly atOnce: CreationSlots,
  ) {
    super();
  }

  async steps({ resourceId }: Operation): Promise<OperationStep[]> {
    const machine = await this.machines.require(resourceId);
    return [
      { name: 'instance', run: () => this.make(machine), undo: () => this.container.remove(machine.id) },
      { name: 'start', run: () => this.container.start(machine.id) },
    ];
  }

  override slots(): CreationSlots {
    return this.atOnce;
  }

  async onDone(tx: Tx, operation: Operation): Promise<void> {
    const { resourceId: id } = operation;
    await tx.manager.update(Machine, { id, status: 'INSTALLING' }, { status: 'RUNNING', updatedAt: new Date() });
    await this.record(tx, operation, 'lxc:create.complete');
  }

  async onFailed(tx: Tx, operation: Operation, { code }: OperationFailure): Promise<void> {
    const { resourceId: id } = operation;
    await tx.manager.update(Machine, { id, status: 'INSTALLING' }, { status: 'INSTALL_FAILED', updatedAt: new Date() });
    await this.record(tx, operation, 'lxc:create.fail', { code });
  }

  private async make(machine: Machine): Promise<void> {
    try {
      await this.container.ensure(machine);
    } catch (error) {
      if (error instanceof EngineError && error.code === 'not_found') {
        throw new OperationFailed('image_gone', `The image ${machine.image} is not offered any more.`, {
          cause: error,
        });
      }
      throw error;
    }
  }

  private async record(tx: Tx, { accountId, resourceId }: Operation, event: string, properties = {}): Promise<void> {
    await this.events.record(tx, { accountId, resourceId, event, properties, ...SYSTEM });
  }
}
