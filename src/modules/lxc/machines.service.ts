import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { Principal } from '../../platform/auth/principal.js';
import { Database, type Tx } from '../../platform/database/database.js';
import { badField, quotaExceeded } from '../../platform/errors/domain-error.js';
import { actorOf, EventRecorder } from '../../platform/events/event-recorder.js';
import { newId } from '../../platform/ids/id.js';
import type { Operation } from '../../platform/operations/operation.entity.js';
import { OperationsService } from '../../platform/operations/operations.service.js';
import { QuotaLock } from '../accounts/quota-lock.service.js';
import { NodesService } from '../nodes/nodes.service.js';
import type { CreateMachineDto, MachineDetail, MachineList } from './dto/machine.dto.js';
import { MachineImages } from './images.reader.js';
import { BOUNDS } from './machine-bounds.js';
import { MachineGate } from './machine-gate.js';
import { MachineNetwork } from './machine-network.service.js';
import { Machine } from './machine.entity.js';
import { DELETE_LANE, MACHINE_OPERATIONS } from './machine.operations.js';
import { MachineRepository } from './machine.repository.js';
import { detailOf, viewOf } from './machine.views.js';

/** Making, showing and deleting machines. */
@Injectable()
export class MachinesService {
  constructor(
    private readonly database: Database,
    private readonly machines: MachineRepository,
    private readonly network: MachineNetwork,
    private readonly images: MachineImages,
    private readonly quota: QuotaLock,
    private readonly gate: MachineGate,
    private readonly operations: OperationsService,
    private readonly events: EventRecorder,
    private readonly nodes: NodesService,
  ) {}

  async list(caller: Principal): Promise<MachineList> {
    const [rows, images] = await Promise.all([this.machines.list(caller.accountId), this.images.list()]);
    const ids = rows.map(({ id }) => id);
    const [ports, addresses] = await Promise.all([this.machines.portsOf(ids), this.network.addressesOf(ids)]);
    const containers = rows.map((row) => viewOf(row, addresses.get(row.id) ?? '', ports.get(row.id) ?? []));
    return { containers, images, bounds: BOUNDS };
  }

  async get(caller: Principal, id: string): Promise<MachineDetail> {
    return this.detail(await this.machines.findOwned(caller.accountId, id));
  }

  async create(caller: Principal, wanted: CreateMachineDto): Promise<MachineDetail> {
    if (!(await this.images.has(wanted.image))) {
      throw badField('image', 'unknown_image', 'image is none of those that machines are made from; see GET /lxc.');
    }
    const machine = await this.database.transaction(async (tx) => {
      const { accountId } = caller;
      const { machines: allowed } = await this.quota.acquire(tx, accountId);
      const used = await this.machines.count(tx, accountId);
      if (used >= allowed) throw quotaExceeded({ name: 'machines', allowed, used, requested: 1 });
      const machine = await this.insert(tx, accountId, wanted);
      await this.operations.start(tx, { accountId, type: MACHINE_OPERATIONS.create, resourceId: machine.id });
      const { image, cpu, ramMb, diskGb } = machine;
      await this.record(tx, caller, machine, 'lxc:create', { image, cpu, ramMb, diskGb });
      return machine;
    });
    return this.detail(machine);
  }

  /** Gone from the API at once; the container, its address and its ports follow. */
  async delete(caller: Principal, id: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      const machine = await this.machines.lockOwned(tx, caller.accountId, id);
      await tx.manager.update(Machine, { id }, { status: 'DELETING', updatedAt: new Date() });
      const running = await this.operations.active(tx, id);
      if (running) await this.operations.cancel(tx, running);
      const type = MACHINE_OPERATIONS.delete;
      await this.operations.start(tx, { accountId: caller.accountId, type, resourceId: id, lane: DELETE_LANE });
      await this.record(tx, caller, machine, 'lxc:delete');
    });
  }

  /** Runs a creation that ended in error once more, with the same parameters. */
  async retry(caller: Principal, id: string): Promise<Operation> {
    return this.database.transaction(async (tx) => {
      const machine = await this.machines.lockOwned(tx, caller.accountId, id);
      await this.gate.mustAllow(tx, machine, 'retry');
      await tx.manager.update(Machine, { id }, { status: 'INSTALLING', updatedAt: new Date() });
      await this.record(tx, caller, machine, 'lxc:retry');
      const { accountId } = caller;
      return this.operations.start(tx, { accountId, type: MACHINE_OPERATIONS.create, resourceId: id });
    });
  }

  private async insert(tx: Tx, accountId: string, wanted: CreateMachineDto): Promise<Machine> {
    const now = new Date();
    const node = await this.nodes.place(tx);
    const machine = tx.manager.create(Machine, {
      ...wanted,
      id: newId('lxc'),
      uuid: randomUUID(),
      accountId,
      nodeId: node.id,
      status: 'INSTALLING',
      createdAt: now,
      updatedAt: now,
    });
    await tx.manager.insert(Machine, machine);
    await this.network.claim(tx, machine.id);
    return machine;
  }

  private async detail(machine: Machine): Promise<MachineDetail> {
    const [ipv4, ports, operation] = await Promise.all([
      this.network.addressOf(machine.id),
      this.machines.ports(machine.id),
      this.operations.latestOf(machine.id),
    ]);
    return detailOf(viewOf(machine, ipv4, ports), operation);
  }

  private record(tx: Tx, caller: Principal, machine: Machine, event: string, properties: object = {}): Promise<void> {
    const { accountId, id: resourceId } = machine;
    return this.events.record(tx, { accountId, resourceId, event, properties, ...actorOf(caller) });
  }
}
