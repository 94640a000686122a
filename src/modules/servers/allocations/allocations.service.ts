import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database, type Tx } from '../../../platform/database/database.js';
import { badField, conflict, notFound } from '../../../platform/errors/domain-error.js';
import { actorOf, EventRecorder } from '../../../platform/events/event-recorder.js';
import { OperationsService } from '../../../platform/operations/operations.service.js';
import { ServerGate } from '../server-gate.js';
import type { Server } from '../server.entity.js';
import { SERVER_OPERATIONS, type PortsPayload } from '../server.operations.js';
import { ServerRepository } from '../server.repository.js';
import { Allocation } from './allocation.entity.js';
import type { AddAllocationDto, FirewallRuleDto, PortView } from './dto/allocation.dto.js';
import { NetworkLedger } from './network-ledger.js';

const MAX_PORTS = 10;
/** How long a change of the ports waits for the engine before it answers that it will hold later. */
const WAIT_MS = 10_000;

/** The public ports of services, and what the firewall does with them. */
@Injectable()
export class AllocationsService {
  constructor(
    private readonly database: Database,
    private readonly servers: ServerRepository,
    private readonly gate: ServerGate,
    private readonly ledger: NetworkLedger,
    private readonly operations: OperationsService,
    private readonly events: EventRecorder,
  ) {}

  async list(caller: Principal, id: string): Promise<PortView[]> {
    await this.servers.findOwned(caller.accountId, id);
    return (await this.servers.allocations(id)).map(viewOf);
  }

  async add(caller: Principal, id: string, { protocol, port }: AddAllocationDto): Promise<PortView> {
    const { allocation, operationId } = await this.database.transaction(async (tx) => {
      const server = await this.servers.lockOwned(tx, caller.accountId, id);
      if (port !== undefined && !this.ledger.mayGive(port)) {
        throw badField('port', 'port_not_given', 'port is not among those that services may have.');
      }
      await this.gate.mustAllow(tx, server, 'ports');
      const held = await tx.manager.countBy(Allocation, { serverId: id });
      if (held >= MAX_PORTS) {
        throw conflict('too_many_ports', `A service has ${MAX_PORTS} ports at most.`, {
          allowed: MAX_PORTS,
          used: held,
        });
      }
      const wanted = { serverId: id, protocol, isPrimary: false };
      const allocation =
        port === undefined
          ? await this.ledger.claimFreePort(tx, wanted)
          : await this.ledger.claimPort(tx, wanted, port);
      if (!allocation) throw conflict('port_taken', `Port ${port} (${protocol}) is taken.`);
      const operationId = await this.apply(tx, caller, server, allocation, 'add');
      return { allocation, operationId };
    });
    await this.operations.mustSucceed(operationId, WAIT_MS);
    return viewOf(allocation);
  }

  async remove(caller: Principal, id: string, allocationId: string): Promise<void> {
    const operationId = await this.database.transaction(async (tx) => {
      const server = await this.servers.lockOwned(tx, caller.accountId, id);
      const allocation = await tx.manager.findOneBy(Allocation, { id: allocationId, serverId: id, removing: false });
      if (!allocation) throw notFound();
      if (allocation.isPrimary) throw conflict('primary_port', 'The primary port stays with its service.');
      await this.gate.mustAllow(tx, server, 'ports');
      await tx.manager.update(Allocation, { id: allocationId }, { removing: true });
      return this.apply(tx, caller, server, allocation, 'remove');
    });
    await this.operations.mustSucceed(operationId, WAIT_MS);
  }

  /** The node fetches the rules every other second. A number that is held for both protocols has one rule. */
  async setFirewall(caller: Principal, id: string, { port, active, rateLimit }: FirewallRuleDto): Promise<PortView> {
    return this.database.transaction(async (tx) => {
      const server = await this.servers.lockOwned(tx, caller.accountId, id);
      const held = { serverId: id, port, removing: false };
      await tx.manager.update(Allocation, held, { active, rateLimit });
      const [allocation] = await tx.manager.find(Allocation, { where: held, order: { isPrimary: 'DESC', id: 'ASC' } });
      if (!allocation) throw notFound();
      await this.record(tx, caller, server, 'server:allocation.firewall', { port, active, rateLimit });
      return viewOf(allocation);
    });
  }

  private async apply(
    tx: Tx,
    caller: Principal,
    server: Server,
    { id: allocationId, port, protocol }: Allocation,
    change: PortsPayload['change'],
  ): Promise<string> {
    const event = change === 'add' ? 'server:allocation.create' : 'server:allocation.delete';
    await this.record(tx, caller, server, event, { port, protocol });
    const operation = await this.operations.start(tx, {
      accountId: server.accountId,
      type: SERVER_OPERATIONS.ports,
      resourceId: server.id,
      payload: { allocationId, change } satisfies PortsPayload,
    });
    return operation.id;
  }

  private async record(tx: Tx, caller: Principal, server: Server, event: string, properties: object): Promise<void> {
    const { accountId, id: resourceId } = server;
    await this.events.record(tx, { accountId, resourceId, event, properties, ...actorOf(caller) });
  }
}

function viewOf({ id, ip, port, protocol, isPrimary, active, rateLimit }: Allocation): PortView {
  return { id, ip, port, protocol, isPrimary, firewall: { active, rateLimit } };
}
