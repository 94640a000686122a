import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { Principal } from '../../platform/auth/principal.js';
import { Database, type Tx } from '../../platform/database/database.js';
import { actorOf, EventRecorder } from '../../platform/events/event-recorder.js';
import { decodeCursor, Page, type PageQuery } from '../../platform/http/page.js';
import { newId } from '../../platform/ids/id.js';
import { Operation } from '../../platform/operations/operation.entity.js';
import { OperationsService } from '../../platform/operations/operations.service.js';
import { AccountsService } from '../accounts/accounts.service.js';
import { DatabaseClaims } from '../databases/database-claims.service.js';
import { hasBroker, NodesService } from '../nodes/nodes.service.js';
import { VaultErasure } from '../vault/vault-erasure.service.js';
import { NetworkLedger } from './allocations/network-ledger.js';
import type { CreateServerDto, ServerDetail, ServerSummary } from './dto/server.dto.js';
import { RUNTIME_CATALOG } from './runtimes.js';
import { ServerGate } from './server-gate.js';
import { ServerQuota } from './server-quota.js';
import { Server } from './server.entity.js';
import { DELETE_LANE, SERVER_OPERATIONS } from './server.operations.js';
import { ServerRepository } from './server.repository.js';
import { detailOf, summaryOf } from './server.views.js';

/** Making, showing and deleting application services. */
@Injectable()
export class ServersService {
  constructor(
    private readonly database: Database,
    private readonly servers: ServerRepository,
    private readonly quota: ServerQuota,
    private readonly gate: ServerGate,
    private readonly ledger: NetworkLedger,
    private readonly operations: OperationsService,
    private readonly events: EventRecorder,
    private readonly nodes: NodesService,
    private readonly accounts: AccountsService,
    private readonly vault: VaultErasure,
    private readonly databases: DatabaseClaims,
  ) {}

  async list(caller: Principal, { limit, cursor }: PageQuery): Promise<Page<ServerSummary>> {
    const before = cursor === undefined ? undefined : (decodeCursor(cursor, ['id'])[0] as string);
    const rows = await this.servers.list(caller.accountId, limit + 1, before);
    return Page.of(rows, limit, (server) => [server.id]).map(summaryOf);
  }

  async get(caller: Principal, id: string): Promise<ServerDetail> {
    return this.detail(await this.servers.findOwned(caller.accountId, id));
  }

  async create(caller: Principal, wanted: CreateServerDto): Promise<ServerDetail> {
    const server = await this.database.transaction(async (tx) => {
      const { ram, disk, cpu, withDatabase = false } = wanted;
      const room = await this.quota.room(tx, caller.accountId);
      room.mustHold({ servers: 1, ram, disk, cpu, databases: withDatabase ? 1 : 0 });
      const server = await this.insert(tx, caller.accountId, wanted);
      if (withDatabase) await this.databases.claim(tx, server.id);
      await this.operations.start(tx, {
        accountId: caller.accountId,
        type: SERVER_OPERATIONS.create,
        resourceId: server.id,
      });
      await this.record(tx, caller, server, 'server:create', { runtime: server.runtime, withDatabase });
      return server;
    });
    return this.detail(server);
  }

  /** Gone from the API at once, its secrets for good; the container, its volume, address and port follow. */
  async delete(caller: Principal, id: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      const server = await this.servers.lockOwned(tx, caller.accountId, id);
      await tx.manager.update(Server, { id }, { status: 'DELETING', updatedAt: new Date() });
      await this.vault.erase(tx, id);
      const running = await this.operations.active(tx, id);
      if (running) await this.operations.cancel(tx, running);
      await this.operations.start(tx, {
        accountId: caller.accountId,
        type: SERVER_OPERATIONS.delete,
        resourceId: id,
        lane: DELETE_LANE,
      });
      await this.record(tx, caller, server, 'server:delete');
    });
  }

  /** Runs a creation that ended in error once more, with the same parameters. */
  async retry(caller: Principal, id: string): Promise<Operation> {
    return this.database.transaction(async (tx) => {
      const server = await this.servers.lockOwned(tx, caller.accountId, id);
      await this.gate.mustAllow(tx, server, 'retry');
      await tx.manager.update(Server, { id }, { status: 'INSTALLING', updatedAt: new Date() });
      await this.record(tx, caller, server, 'server:retry');
      return this.operations.start(tx, {
        accountId: caller.accountId,
        type: SERVER_OPERATIONS.create,
        resourceId: id,
      });
    });
  }

  /** Runs the installation again on the data that is there; afterwards the service is as it was, running or stopped. */
  async reinstall(caller: Principal, id: string): Promise<Operation> {
    return this.database.transaction(async (tx) => {
      const server = await this.servers.lockOwned(tx, caller.accountId, id);
      await this.gate.mustAllow(tx, server, 'reinstall');
      await tx.manager.update(Server, { id }, { status: 'REINSTALLING', updatedAt: new Date() });
      await this.record(tx, caller, server, 'server:settings.reinstall');
      return this.operations.start(tx, {
        accountId: caller.accountId,
        type: SERVER_OPERATIONS.reinstall,
        resourceId: id,
        payload: { wasRunning: server.status === 'RUNNING' },
      });
    });
  }

  private async insert(tx: Tx, accountId: string, wanted: CreateServerDto): Promise<Server> {
    const now = new Date();
    const node = await this.nodes.place(tx);
    const server = tx.manager.create(Server, {
      id: newId('srv'),
      uuid: randomUUID(),
      accountId,
      nodeId: node.id,
      name: wanted.name,
      description: '',
      status: 'INSTALLING',
      runtime: wanted.runtime,
      image: RUNTIME_CATALOG[wanted.runtime].images[0],
      ram: wanted.ram,
      disk: wanted.disk,
      cpu: wanted.cpu,
      autoRestart: true,
      restartBudgetFrom: now,
      installedAt: null,
      createdAt: now,
      updatedAt: now,
    });
    await tx.manager.insert(Server, server);
    await this.ledger.claimAddress(tx, server.id);
    await this.ledger.claimPrimaryPort(tx, server.id);
    return server;
  }

  private async detail(server: Server): Promise<ServerDetail> {
    const [allocations, operation, node, account] = await Promise.all([
      this.servers.allocations(server.id),
      this.operations.latestOf(server.id),
      this.nodes.find(server.nodeId),
      this.accounts.find(server.accountId),
    ]);
    return detailOf({
      server,
      operation,
      node: { name: node.name, hasBroker: hasBroker(node) },
      plan: account.plan,
      allocation: allocations.find((allocation) => allocation.isPrimary) ?? null,
    });
  }

  private record(tx: Tx, caller: Principal, server: Server, event: string, properties: object = {}): Promise<void> {
    return this.events.record(tx, {
      accountId: server.accountId,
      resourceId: server.id,
      event,
      properties,
      ...actorOf(caller),
    });
  }
}
