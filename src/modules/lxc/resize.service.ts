import { Injectable } from '@nestjs/common';
import type { Principal } from '../../platform/auth/principal.js';
import { Database } from '../../platform/database/database.js';
import { conflict } from '../../platform/errors/domain-error.js';
import { actorOf, EventRecorder } from '../../platform/events/event-recorder.js';
import { OperationsService } from '../../platform/operations/operations.service.js';
import type { ResizedMachine, ResizeMachineDto } from './dto/machine.dto.js';
import { MachineGate } from './machine-gate.js';
import { Machine } from './machine.entity.js';
import { MACHINE_OPERATIONS, type MachineSize, type ResizePayload } from './machine.operations.js';
import { MachineRepository } from './machine.repository.js';
import { MachinesService } from './machines.service.js';
import { MachineUsageReader } from './usage/machine-usage.reader.js';

/** How long a resize waits for the engine before it answers that the limits will hold later. */
const WAIT_MS = 10_000;

/** Gives machines other limits, live. */
@Injectable()
export class MachineResizeService {
  constructor(
    private readonly database: Database,
    private readonly machines: MachineRepository,
    private readonly details: MachinesService,
    private readonly gate: MachineGate,
    private readonly operations: OperationsService,
    private readonly events: EventRecorder,
    private readonly usage: MachineUsageReader,
  ) {}

  async resize(caller: Principal, id: string, wanted: ResizeMachineDto): Promise<ResizedMachine> {
    const { accountId } = caller;
    const before = await this.machines.findOwned(accountId, id);
    if (wanted.diskGb !== undefined && wanted.diskGb < before.diskGb) await this.mustFit(before, wanted.diskGb);
    const operation = await this.database.transaction(async (tx) => {
      const machine = await this.machines.lockOwned(tx, accountId, id);
      await this.gate.mustAllow(tx, machine, 'resize');
      const from: MachineSize = { cpu: machine.cpu, ramMb: machine.ramMb, diskGb: machine.diskGb };
      const { cpu = from.cpu, ramMb = from.ramMb, diskGb = from.diskGb } = wanted;
      const payload: ResizePayload = { from, to: { cpu, ramMb, diskGb } };
      await tx.manager.update(Machine, { id }, { ...payload.to, updatedAt: new Date() });
      const event = 'lxc:resize';
      await this.events.record(tx, { accountId, resourceId: id, event, properties: payload, ...actorOf(caller) });
      return this.operations.start(tx, { accountId, type: MACHINE_OPERATIONS.resize, resourceId: id, payload });
    });
    const appliedLive = await this.operations.mustSucceed(operation.id, WAIT_MS);
    return { ...(await this.details.get(caller, id)), appliedLive };
  }

  private async mustFit(machine: Machine, diskGb: number): Promise<void> {
    const usedBytes = await this.usage.diskBytes(machine.id);
    if (usedBytes > diskGb * 2 ** 30) {
      const members = { currentStatus: machine.status, usedBytes };
      throw conflict('disk_in_use', `The machine uses more than ${diskGb} GB of its disk.`, members);
    }
  }
}
