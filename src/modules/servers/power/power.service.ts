import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database, type Tx } from '../../../platform/database/database.js';
import { notFound, stateConflict } from '../../../platform/errors/domain-error.js';
import { actorOf, EventRecorder, SYSTEM, type NewEvent } from '../../../platform/events/event-recorder.js';
import type { Operation } from '../../../platform/operations/operation.entity.js';
import { OperationsService } from '../../../platform/operations/operations.service.js';
import { ALLOWED_ACTIONS, type PowerSignal, type ServerStatus } from '../server-status.js';
import { Server } from '../server.entity.js';
import { KILL_LANE, SERVER_OPERATIONS, type PowerPayload } from '../server.operations.js';
import { ServerRepository } from '../server.repository.js';

type Cause = Pick<NewEvent, 'actor' | 'ip' | 'properties'>;

/** Accepts power signals: the answer comes before the change. */
@Injectable()
export class PowerService {
  constructor(
    private readonly database: Database,
    private readonly servers: ServerRepository,
    private readonly operations: OperationsService,
    private readonly events: EventRecorder,
  ) {}

  async send(caller: Principal, id: string, signal: PowerSignal): Promise<Operation> {
    return this.database.transaction(async (tx) => {
      const server = await this.servers.lockOwned(tx, caller.accountId, id);
      return this.accept(tx, server, signal, actorOf(caller));
    });
  }

  /** The same on the platform's own behalf, as part of the transaction that is the cause. `properties` tell why. */
  async sendBySystem(tx: Tx, id: string, signal: PowerSignal, properties: object): Promise<Operation> {
    const server = await this.servers.lock(tx, id);
    if (!server) throw notFound();
    return this.accept(tx, server, signal, { ...SYSTEM, properties });
  }

  private async accept(tx: Tx, server: Server, signal: PowerSignal, by: Cause): Promise<Operation> {
    const waiting = await this.dropPendingRestart(tx, server);
    const verdict = ALLOWED_ACTIONS[server.status][signal];
    if (verdict === 'refuse') throw stateConflict(signal, server.status);
    // A kill ends whatever runs when it comes to its end, so what it would end is not promised to anybody.
    if (signal === 'start' || signal === 'restart') await this.operations.mustBeFree(tx, server, KILL_LANE);
    const { accountId, id: resourceId } = server;
    await this.events.record(tx, { accountId, resourceId, event: `server:power.${signal}`, ...by });
    if (verdict === 'nothing' && !waiting) return this.nothing(tx, server, signal);
    return signal === 'kill' ? this.kill(tx, server) : this.run(tx, server, signal, by);
  }

  private async run(tx: Tx, server: Server, signal: PowerPayload['signal'], by: Cause): Promise<Operation> {
    await this.operations.mustBeFree(tx, server);
    const alive = server.status === 'RUNNING' || server.status === 'STARTING' || server.status === 'STOPPING';
    const status: ServerStatus = signal === 'stop' || (signal === 'restart' && alive) ? 'STOPPING' : 'STARTING';
    const now = new Date();
    // What a person does by hand gives the program a fresh restart budget.
    const budget = by.actor.type === 'system' ? {} : { restartBudgetFrom: now };
    await tx.manager.update(Server, { id: server.id }, { status, ...budget, updatedAt: now });
    return this.operations.start(tx, {
      accountId: server.accountId,
      type: SERVER_OPERATIONS.power,
      resourceId: server.id,
      payload: { signal } satisfies PowerPayload,
    });
  }

  /** Runs beside whatever the service is busy with, a stop that hangs above all. */
  private async kill(tx: Tx, server: Server): Promise<Operation> {
    const running = await this.operations.active(tx, server.id, KILL_LANE);
    if (running) return running;
    return this.operations.start(tx, {
      accountId: server.accountId,
      type: SERVER_OPERATIONS.kill,
      resourceId: server.id,
      lane: KILL_LANE,
    });
  }

  private async nothing(tx: Tx, server: Server, signal: PowerSignal): Promise<Operation> {
    const type = signal === 'kill' ? SERVER_OPERATIONS.kill : SERVER_OPERATIONS.power;
    return this.operations.noop(tx, { accountId: server.accountId, type, resourceId: server.id });
  }

  /** A restart after a crash that still waits for its turn gives way to what the account asks for. */
  private async dropPendingRestart(tx: Tx, server: Server): Promise<boolean> {
    if (server.status !== 'STARTING') return false;
    const running = await this.operations.active(tx, server.id);
    if (!running || running.status !== 'QUEUED' || !(running.payload as PowerPayload).afterCrash) return false;
    return this.operations.cancel(tx, running);
  }
}
