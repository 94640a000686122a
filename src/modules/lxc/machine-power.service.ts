import { Injectable } from '@nestjs/common';
import type { Principal } from '../../platform/auth/principal.js';
import { Database } from '../../platform/database/database.js';
import { stateConflict } from '../../platform/errors/domain-error.js';
import { actorOf, EventRecorder } from '../../platform/events/event-recorder.js';
import type { Operation } from '../../platform/operations/operation.entity.js';
import { OperationsService } from '../../platform/operations/operations.service.js';
import { ALLOWED_ACTIONS, type MachinePower, type MachineStatus } from './machine-status.js';
import { Machine } from './machine.entity.js';
import { MACHINE_OPERATIONS, type PowerPayload } from './machine.operations.js';
import { MachineRepository } from './machine.repository.js';

/** Accepts power actions: the answer comes before the change. */
@Injectable()
export class MachinePowerService {
  constructor(
    private readonly database: Database,
    private readonly machines: MachineRepository,
    private readonly operations: OperationsService,
    private readonly events: EventRecorder,
  ) {}

  async send(caller: Principal, id: string, action: MachinePower): Promise<Operation> {
    const { accountId } = caller;
    return this.database.transaction(async (tx) => {
      const machine = await this.machines.lockOwned(tx, accountId, id);
      const verdict = ALLOWED_ACTIONS[machine.status][action];
      if (verdict === 'refuse') throw stateConflict(action, machine.status);
      await this.events.record(tx, { accountId, resourceId: id, event: `lxc:power.${action}`, ...actorOf(caller) });
      const type = MACHINE_OPERATIONS.power;
      if (verdict === 'nothing') return this.operations.noop(tx, { accountId, type, resourceId: id });
      await this.operations.mustBeFree(tx, machine);
      const payload: PowerPayload = { action };
      const ends = action === 'stop' || (action === 'restart' && machine.status === 'RUNNING');
      const status: MachineStatus = ends ? 'STOPPING' : 'STARTING';
      await tx.manager.update(Machine, { id }, { status, updatedAt: new Date() });
      return this.operations.start(tx, { accountId, type, resourceId: id, payload });
    });
  }
}
