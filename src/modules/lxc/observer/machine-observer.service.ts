import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { Database } from '../../../platform/database/database.js';
import { EventRecorder, SYSTEM } from '../../../platform/events/event-recorder.js';
import type { ReportedInstance } from '../../../platform/internal-api/internal-api.contract.js';
import { OperationsService } from '../../../platform/operations/operations.service.js';
import { InstanceWatchers, type InstanceWatcher } from '../../instances/instance-watchers.service.js';
import type { MachineStatus } from '../machine-status.js';
import { Machine } from '../machine.entity.js';
import { MACHINE_OPERATIONS, machineIdOf, type PowerPayload } from '../machine.operations.js';
import { MachineRepository } from '../machine.repository.js';
import { MachineUsageReader } from '../usage/machine-usage.reader.js';

/** States that follow what the engine has; the others are an operation's to end. */
const FOLLOWS: MachineStatus[] = ['RUNNING', 'STOPPED', 'STARTING', 'STOPPING'];

/** Makes the rows agree with what nodes see: a machine can be switched off from inside, and the engine be restarted. */
@Injectable()
export class MachineObserver implements InstanceWatcher {
  constructor(
    private readonly database: Database,
    private readonly machines: MachineRepository,
    private readonly operations: OperationsService,
    private readonly events: EventRecorder,
    private readonly reader: MachineUsageReader,
    watchers: InstanceWatchers,
  ) {
    watchers.register(this);
  }

  async seen(nodeId: string, instances: ReportedInstance[]): Promise<void> {
    const byMachine = new Map(instances.map((instance) => [machineIdOf(instance.name), instance]));
    const rows = await this.database.manager.find(Machine, {
      select: { id: true, status: true },
      where: { nodeId, status: In(FOLLOWS) },
    });
    for (const { id, status } of rows) {
      const { running = false, interrupted = false, mayResume = false } = byMachine.get(id) ?? {};
      if (interrupted && status === 'RUNNING') {
        if (mayResume) await this.resume(id);
      } else if (running !== (status === 'RUNNING')) await this.look(nodeId, id);
    }
  }

  async stopped(nodeId: string, name: string): Promise<void> {
    const id = machineIdOf(name);
    if (id !== null) await this.look(nodeId, id);
  }

  /** It is to run, and the engine came back without it. */
  private async resume(id: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      const machine = await this.machines.lock(tx, id);
      if (machine?.status !== 'RUNNING' || (await this.operations.active(tx, id))) return;
      const { accountId } = machine;
      await tx.manager.update(Machine, { id }, { status: 'STARTING', updatedAt: new Date() });
      await this.events.record(tx, { accountId, resourceId: id, event: 'lxc:power.resume', ...SYSTEM });
      const payload: PowerPayload = { action: 'start' };
      await this.operations.start(tx, { accountId, type: MACHINE_OPERATIONS.power, resourceId: id, payload });
    });
  }

  /** The engine is asked once more: by the time this is heard, an operation may have changed it, or the machine itself. */
  private async look(nodeId: string, id: string): Promise<void> {
    const seen = await this.machines.find(id);
    if (seen?.nodeId !== nodeId || !FOLLOWS.includes(seen.status)) return;
    const status: MachineStatus = (await this.reader.instance(id))?.state === 'running' ? 'RUNNING' : 'STOPPED';
    if (seen.status === status) return;
    await this.database.transaction(async (tx) => {
      const machine = await this.machines.lock(tx, id);
      if (machine?.updatedAt.getTime() !== seen.updatedAt.getTime() || machine.status !== seen.status) return;
      if (await this.operations.active(tx, id)) return;
      await tx.manager.update(Machine, { id }, { status, updatedAt: new Date() });
      const event = status === 'RUNNING' ? 'lxc:power.started' : 'lxc:power.stopped';
      await this.events.record(tx, { accountId: machine.accountId, resourceId: id, event, ...SYSTEM });
    });
  }
}
