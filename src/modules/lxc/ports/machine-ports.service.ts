import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database, type Tx } from '../../../platform/database/database.js';
import { badField, conflict, notFound } from '../../../platform/errors/domain-error.js';
import { actorOf, EventRecorder } from '../../../platform/events/event-recorder.js';
import { newId } from '../../../platform/ids/id.js';
import { OperationsService } from '../../../platform/operations/operations.service.js';
import { PortLedger } from '../../ports/port-ledger.service.js';
import type { AddMachinePortDto, MachinePortView } from '../dto/machine.dto.js';
import { MAX_PORTS } from '../machine-bounds.js';
import { MachineGate } from '../machine-gate.js';
import { MACHINE_OPERATIONS, type PortsPayload } from '../machine.operations.js';
import { MachineRepository } from '../machine.repository.js';
import { portView } from '../machine.views.js';
import { MachinePort } from './machine-port.entity.js';

/** How long a change of the ports waits for the engine before it answers that it will hold later. */
const WAIT_MS = 10_000;

/** Public ports that lead to those of machines. */
@Injectable()
export class MachinePortsService {
  constructor(
    private readonly database: Database,
    private readonly machines: MachineRepository,
    private readonly gate: MachineGate,
    private readonly ledger: PortLedger,
    private readonly operations: OperationsService,
    private readonly events: EventRecorder,
  ) {}

  async add(caller: Principal, id: string, wanted: AddMachinePortDto): Promise<MachinePortView> {
    const { publicPort } = wanted;
    const { port, operationId } = await this.database.transaction(async (tx) => {
      const machine = await this.machines.lockOwned(tx, caller.accountId, id);
      if (publicPort !== undefined && !this.ledger.mayGive(publicPort)) {
        throw badField('publicPort', 'port_not_given', 'publicPort is not among those that may be had.');
      }
      await this.gate.mustAllow(tx, machine, 'ports');
      const used = await tx.manager.countBy(MachinePort, { machineId: id });
      if (used >= MAX_PORTS) {
        throw conflict('too_many_ports', `A machine has ${MAX_PORTS} ports at most.`, { allowed: MAX_PORTS, used });
      }
      const port = await this.claim(tx, id, wanted);
      if (!port) throw conflict('port_taken', `Port ${publicPort} (${wanted.protocol}) is taken.`);
      return { port, operationId: await this.apply(tx, caller, port, 'add') };
    });
    const done = await this.operations.mustSucceed(operationId, WAIT_MS);
    return { ...portView(port), status: done ? 'ACTIVE' : 'PENDING' };
  }

  async remove(caller: Principal, id: string, portId: string): Promise<void> {
    const operationId = await this.database.transaction(async (tx) => {
      const machine = await this.machines.lockOwned(tx, caller.accountId, id);
      const port = await tx.manager.findOneBy(MachinePort, { id: portId, machineId: id });
      if (!port || port.status === 'REMOVING') throw notFound();
      await this.gate.mustAllow(tx, machine, 'ports');
      await tx.manager.update(MachinePort, { id: portId }, { status: 'REMOVING' });
      return this.apply(tx, caller, port, 'remove');
    });
    await this.operations.mustSucceed(operationId, WAIT_MS);
  }

  private claim(tx: Tx, machineId: string, wanted: AddMachinePortDto): Promise<MachinePort | null> {
    const { protocol, publicPort } = wanted;
    const take = (number: number) => this.take(tx, machineId, wanted, number);
    return publicPort === undefined ? this.ledger.claimFree(tx, protocol, take) : take(publicPort);
  }

  private async take(
    tx: Tx,
    machineId: string,
    { protocol, targetPort }: AddMachinePortDto,
    publicPort: number,
  ): Promise<MachinePort | null> {
    const port = tx.manager.create(MachinePort, {
      id: newId('prt'),
      machineId,
      ip: this.ledger.publicIp,
      protocol,
      publicPort,
      targetPort,
      status: 'PENDING',
      createdAt: new Date(),
    });
    await tx.manager.insert(MachinePort, port);
    if (await this.ledger.claim(tx, protocol, publicPort, { machinePortId: port.id })) return port;
    await tx.manager.delete(MachinePort, { id: port.id });
    return null;
  }

  private async apply(tx: Tx, caller: Principal, port: MachinePort, change: PortsPayload['change']): Promise<string> {
    const { id: portId, machineId: resourceId, protocol, publicPort, targetPort } = port;
    const { accountId } = caller;
    const event = change === 'add' ? 'lxc:port.create' : 'lxc:port.delete';
    const properties = { protocol, publicPort, targetPort };
    await this.events.record(tx, { accountId, resourceId, event, properties, ...actorOf(caller) });
    const payload: PortsPayload = { portId, change };
    return (await this.operations.start(tx, { accountId, type: MACHINE_OPERATIONS.ports, resourceId, payload })).id;
  }
}
