import { Injectable } from '@nestjs/common';
import { In, MoreThan } from 'typeorm';
import { Database, type Tx } from '../../../platform/database/database.js';
import { keepNewest } from '../../../platform/database/keep-newest.js';
import { EventRecorder, SYSTEM } from '../../../platform/events/event-recorder.js';
import { newId } from '../../../platform/ids/id.js';
import type { ReportedInstance } from '../../../platform/internal-api/internal-api.contract.js';
import { OperationsService } from '../../../platform/operations/operations.service.js';
import { ServerCrash } from '../lifecycle/server-crash.entity.js';
import { Server } from '../server.entity.js';
import { KILL_LANE, SERVER_OPERATIONS, serverIdOf, type PowerPayload } from '../server.operations.js';
import { ServerRepository } from '../server.repository.js';
import type { ServerStatus } from '../server-status.js';
import { ServerUsageReader } from '../usage/server-usage.reader.js';

/** How a program ended, as its node tells it. All null when nobody could tell: the container was ended from outside. */
export interface ObservedExit {
  code: number | null;
  signal: string | null;
  outOfMemory: boolean;
}

/** What a program left behind. The account's data: it is stored for the account and goes nowhere else. */
export interface ObservedTraces {
  output: string[] | null;
  usage: { at: Date; memoryBytes: number; cpuPercent: number | null } | null;
}

const NO_TRACES: ObservedTraces = { output: null, usage: null };
/** How many crashes of a service are remembered. */
const KEPT_CRASHES = 25;

const BUDGET_WINDOW_MS = 10 * 60_000;
const MAX_RESTARTS = 3;
/** Wait before the first, second and third restart. */
const RESTART_DELAYS_MS = [1000, 2000, 4000];

/** States in which a service is expected to have a running program or to be on its way to one or from it. */
const EXPECT_PROGRAM: ServerStatus[] = ['RUNNING', 'STARTING', 'STOPPING'];

/**
 * Takes in what the nodes see of programs and makes the rows agree: a program that ended without being asked to has crashed,
 * and is started again within its budget.
 */
@Injectable()
export class ServerObserver {
  constructor(
    private readonly database: Database,
    private readonly servers: ServerRepository,
    private readonly operations: OperationsService,
    private readonly events: EventRecorder,
    private readonly reader: ServerUsageReader,
  ) {}

  /**
   * Compares what a node has with the rows of that node, which makes good every event that was missed. Answers which
   * containers stand still though they should not, so that the node tells how they ended. What only was interrupted did not
   * end, and is started again as soon as it may be.
   */
  async compare(nodeId: string, instances: ReportedInstance[]): Promise<string[]> {
    const byServer = new Map(instances.map((instance) => [serverIdOf(instance.name), instance]));
    const rows = await this.database.manager.find(Server, {
      select: { id: true, status: true },
      where: { nodeId, status: In(EXPECT_PROGRAM) },
    });
    const howEnded: string[] = [];
    for (const { id, status } of rows) {
      const instance = byServer.get(id);
      if (!instance) await this.ended(nodeId, id, null);
      else if (instance.running) {
        if (status === 'STARTING') await this.started(id);
      } else if (instance.interrupted && status !== 'STOPPING') {
        if (instance.mayResume) await this.resume(id);
      } else if (!(await this.isBusy(this.database, id))) howEnded.push(instance.name);
    }
    return howEnded;
  }

  /** Whether a program that has just ended was expected to run, and no operation is about to decide its state anyway. */
  async isUnasked(nodeId: string, id: string): Promise<boolean> {
    const server = await this.servers.find(id);
    if (server?.nodeId !== nodeId || !EXPECT_PROGRAM.includes(server.status)) return false;
    return !(await this.isBusy(this.database, id));
  }

  /** Its program is to run, and the engine came back without it. */
  private async resume(id: string): Promise<void> {
    await this.undisturbed(id, async (tx, server) => {
      if (server.status !== 'RUNNING' && server.status !== 'STARTING') return;
      await tx.manager.update(Server, { id }, { status: 'STARTING', updatedAt: new Date() });
      await this.record(tx, server, 'server:power.resume');
      await this.operations.start(tx, {
        accountId: server.accountId,
        type: SERVER_OPERATIONS.power,
        resourceId: id,
        payload: { signal: 'start' } satisfies PowerPayload,
      });
    });
  }

  /** A program runs that no operation of ours is about: the engine brought back what ran before it was restarted. */
  private async started(id: string): Promise<void> {
    await this.undisturbed(id, async (tx, server) => {
      if (server.status !== 'STARTING') return;
      await tx.manager.update(Server, { id }, { status: 'RUNNING', updatedAt: new Date() });
    });
  }

  /**
   * A program on that node has ended. Whether it was asked to is told by the service's status. The engine is asked once
   * more: by the time this is heard, an operation may have started the program again.
   */
  async ended(nodeId: string, id: string, exit: ObservedExit | null, traces = NO_TRACES): Promise<void> {
    const seen = await this.servers.find(id);
    if (seen?.nodeId !== nodeId || !EXPECT_PROGRAM.includes(seen.status)) return;
    if ((await this.reader.instance(id))?.state === 'running') return;
    await this.undisturbed(id, async (tx, server) => {
      const changed = server.updatedAt.getTime() !== seen.updatedAt.getTime() || server.status !== seen.status;
      if (changed) return;
      if (server.status === 'STOPPING' || exit?.code === 0) return this.stopped(tx, server);
      await this.crashed(tx, server, exit ?? { code: null, signal: null, outOfMemory: false }, traces);
    });
  }

  private async stopped(tx: Tx, server: Server): Promise<void> {
    await tx.manager.update(Server, { id: server.id }, { status: 'STOPPED', updatedAt: new Date() });
    await this.record(tx, server, 'server:power.stopped');
  }

  private async crashed(tx: Tx, server: Server, exit: ObservedExit, traces: ObservedTraces): Promise<void> {
    const at = new Date();
    const since = new Date(Math.max(at.getTime() - BUDGET_WINDOW_MS, server.restartBudgetFrom.getTime()));
    const restarts = await tx.manager.countBy(ServerCrash, { serverId: server.id, at: MoreThan(since) });
    const restart = server.autoRestart && restarts < MAX_RESTARTS;
    await tx.manager.insert(ServerCrash, {
      id: newId('act'),
      serverId: server.id,
      exitCode: exit.code,
      signal: exit.signal,
      outOfMemory: exit.outOfMemory,
      restarted: restart,
      output: traces.output,
      memoryBytes: traces.usage?.memoryBytes ?? null,
      cpuPercent: traces.usage?.cpuPercent ?? null,
      usageAt: traces.usage?.at ?? null,
      at,
    });
    await keepNewest(tx, ServerCrash, { serverId: server.id }, KEPT_CRASHES);
    await this.record(tx, server, 'server:crashed', { ...exit, restart });
    await tx.manager.update(Server, { id: server.id }, { status: restart ? 'STARTING' : 'CRASHED', updatedAt: at });
    if (!restart) return;
    await this.operations.start(tx, {
      accountId: server.accountId,
      type: SERVER_OPERATIONS.power,
      resourceId: server.id,
      payload: { signal: 'start', afterCrash: true } satisfies PowerPayload,
      delayMs: RESTART_DELAYS_MS[restarts]!,
    });
  }

  /** Runs `work` with the row locked, unless an operation is about to decide the service's state itself. */
  private async undisturbed(id: string, work: (tx: Tx, server: Server) => Promise<void>): Promise<void> {
    await this.database.transaction(async (tx) => {
      const server = await this.servers.lock(tx, id);
      if (!server) return;
      if (!(await this.isBusy(tx, id))) await work(tx, server);
    });
  }

  private async isBusy(tx: Pick<Tx, 'manager'>, id: string): Promise<boolean> {
    return (
      (await this.operations.active(tx, id)) !== null || (await this.operations.active(tx, id, KILL_LANE)) !== null
    );
  }

  private async record(tx: Tx, server: Server, event: string, properties: object = {}): Promise<void> {
    await this.events.record(tx, {
      accountId: server.accountId,
      resourceId: server.id,
      event,
      properties,
      ...SYSTEM,
    });
  }
}
