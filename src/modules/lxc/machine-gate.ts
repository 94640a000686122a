import { Injectable } from '@nestjs/common';
import type { Tx } from '../../platform/database/database.js';
import { stateConflict } from '../../platform/errors/domain-error.js';
import { OperationsService } from '../../platform/operations/operations.service.js';
import { ALLOWED_ACTIONS, type MachineAction } from './machine-status.js';
import type { Machine } from './machine.entity.js';

/** Refuses what a machine's state does not allow, and what would have to wait for another operation on it. */
@Injectable()
export class MachineGate {
  constructor(private readonly operations: OperationsService) {}

  async mustAllow(tx: Tx, machine: Machine, action: MachineAction): Promise<void> {
    if (ALLOWED_ACTIONS[machine.status][action] !== 'run') throw stateConflict(action, machine.status);
    await this.operations.mustBeFree(tx, machine);
  }
}
