import { Injectable } from '@nestjs/common';
import { Not } from 'typeorm';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database, type Tx } from '../../../platform/database/database.js';
import { notFound, quotaExceeded } from '../../../platform/errors/domain-error.js';
import { actorOf, EventRecorder } from '../../../platform/events/event-recorder.js';
import { newId } from '../../../platform/ids/id.js';
import type { Operation } from '../../../platform/operations/operation.entity.js';
import { OperationsService } from '../../../platform/operations/operations.service.js';
import { QuotaLock } from '../../accounts/quota-lock.service.js';
import type { AcceptedSnapshot, CreateSnapshotDto, SnapshotView } from '../dto/snapshot.dto.js';
import { MachineGate } from '../machine-gate.js';
import { Machine } from '../machine.entity.js';
import { MACHINE_OPERATIONS, type RestorePayload, type SnapshotPayload } from '../machine.operations.js';
import { MachineRepository } from '../machine.repository.js';
import { MachineSnapshot, type SnapshotStatus } from './machine-snapshot.entity.js';

const SEEN = Not<SnapshotStatus>('DELETING');

/** What accounts keep of their machines' disks. */
@Injectable()
export class SnapshotsService {
  constructor(
    private readonly database: Database,
    private readonly machines: MachineRepository,
    private readonly gate: MachineGate,
    private readonly quota: QuotaLock,
    private readonly operations: OperationsService,
    private readonly events: EventRecorder,
  ) {}

  async list(caller: Principal, id: string): Promise<SnapshotView[]> {
    await this.machines.findOwned(caller.accountId, id);
    const where = { machineId: id, status: SEEN };
    const rows = await this.database.manager.find(MachineSnapshot, { where, order: { id: 'DESC' } });
    return rows.map(viewOf);
  }

  async create(caller: Principal, id: string, { name }: CreateSnapshotDto): Promise<AcceptedSnapshot> {
    return this.database.transaction(async (tx) => {
      const { machineSnapshots: allowed } = await this.quota.acquire(tx, caller.accountId);
      const machine = await this.machines.lockOwned(tx, caller.accountId, id);
      await this.gate.mustAllow(tx, machine, 'snapshot');
      const used = await tx.manager.countBy(MachineSnapshot, { machineId: id });
      if (used >= allowed) throw quotaExceeded({ name: 'machineSnapshots', allowed, used, requested: 1 });
      const createdAt = new Date();
      const snapshot = tx.manager.create(MachineSnapshot, {
        id: newId('snp'),
        machineId: id,
        name: name ?? createdAt.toISOString(),
        status: 'CREATING',
        createdAt,
      });
      await tx.manager.insert(MachineSnapshot, snapshot);
      const operation = await this.begin(tx, caller, snapshot, 'snapshot', { snapshotId: snapshot.id });
      return { ...viewOf(snapshot), operationId: operation.id };
    });
  }

  /** The machine's disk becomes what it was; afterwards it runs again if it ran. */
  async restore(caller: Principal, id: string, snapshotId: string): Promise<Operation> {
    return this.database.transaction(async (tx) => {
      const machine = await this.machines.lockOwned(tx, caller.accountId, id);
      const snapshot = await this.ready(tx, id, snapshotId);
      await this.gate.mustAllow(tx, machine, 'restore');
      const wasRunning = machine.status === 'RUNNING';
      await tx.manager.update(Machine, { id }, { status: 'RESTORING', updatedAt: new Date() });
      await tx.manager.update(MachineSnapshot, { id: snapshotId }, { status: 'RESTORING' });
      const payload: RestorePayload = { snapshotId, wasRunning };
      return this.begin(tx, caller, snapshot, 'restore', payload);
    });
  }

  async delete(caller: Principal, id: string, snapshotId: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      const machine = await this.machines.lockOwned(tx, caller.accountId, id);
      const snapshot = await this.ready(tx, id, snapshotId);
      await this.gate.mustAllow(tx, machine, 'snapshot');
      await tx.manager.update(MachineSnapshot, { id: snapshotId }, { status: 'DELETING' });
      await this.begin(tx, caller, snapshot, 'snapshotDelete', { snapshotId });
    });
  }

  private async ready(tx: Tx, machineId: string, id: string): Promise<MachineSnapshot> {
    const snapshot = await tx.manager.findOneBy(MachineSnapshot, { id, machineId, status: SEEN });
    if (!snapshot) throw notFound();
    return snapshot;
  }

  private async begin(
    tx: Tx,
    caller: Principal,
    { machineId: resourceId, name }: MachineSnapshot,
    what: 'snapshot' | 'restore' | 'snapshotDelete',
    payload: SnapshotPayload,
  ): Promise<Operation> {
    const { accountId } = caller;
    const event = { snapshot: 'create', restore: 'restore', snapshotDelete: 'delete' }[what];
    await this.events.record(tx, {
      accountId,
      resourceId,
      event: `lxc:snapshot.${event}`,
      properties: { name },
      ...actorOf(caller),
    });
    return this.operations.start(tx, { accountId, type: MACHINE_OPERATIONS[what], resourceId, payload });
  }
}

function viewOf({ id, name, status, createdAt }: MachineSnapshot): SnapshotView {
  return { id, name, status, createdAt };
}
