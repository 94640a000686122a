import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { Database } from '../../../platform/database/database.js';
import { AppLogger } from '../../../platform/observability/logger.js';
import { OperationsService } from '../../../platform/operations/operations.service.js';
import { EngineOwners, type EngineOwner } from '../../instances/engine-owners.service.js';
import { Machine } from '../machine.entity.js';
import { DELETE_LANE, engineName, machineIdOf, MACHINE_OPERATIONS } from '../machine.operations.js';

/** Tells which of the engine's instances are machines. */
@Injectable()
export class MachineOwnerWorker implements EngineOwner {
  constructor(
    private readonly database: Database,
    private readonly operations: OperationsService,
    private readonly log: AppLogger,
    owners: EngineOwners,
  ) {
    owners.register(this);
  }

  gives(name: string): boolean {
    return machineIdOf(name) !== null;
  }

  async ownedAmong(names: string[]): Promise<Set<string>> {
    const ids = names.flatMap((name) => machineIdOf(name) ?? []);
    if (ids.length === 0) return new Set();
    const rows = await this.database.manager.find(Machine, { select: { id: true }, where: { id: In(ids) } });
    return new Set(rows.map(({ id }) => engineName(id)));
  }

  async finishDeletions(): Promise<void> {
    const rows = await this.database.manager.find(Machine, {
      select: { id: true, accountId: true },
      where: { status: 'DELETING' },
    });
    for (const { id, accountId } of rows) {
      await this.database.transaction(async (tx) => {
        if (await this.operations.active(tx, id, DELETE_LANE)) return;
        const type = MACHINE_OPERATIONS.delete;
        await this.operations.start(tx, { accountId, type, resourceId: id, lane: DELETE_LANE });
        this.log.warn({ machineId: id }, 'deletion that gave up is started again');
      });
    }
  }
}
