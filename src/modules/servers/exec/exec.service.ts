import { Injectable } from '@nestjs/common';
import { In, LessThan, LessThanOrEqual, MoreThan, MoreThanOrEqual, Not, type FindOptionsSelect } from 'typeorm';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database, type Tx } from '../../../platform/database/database.js';
import { DomainError, notFound, stateConflict } from '../../../platform/errors/domain-error.js';
import { actorOf, EventRecorder } from '../../../platform/events/event-recorder.js';
import { decodeCursor, Page, type PageQuery } from '../../../platform/http/page.js';
import { newId } from '../../../platform/ids/id.js';
import { OperationsService } from '../../../platform/operations/operations.service.js';
import { truncate } from '../../../platform/text/truncate.js';
import { SERVER_OPERATIONS, type ExecPayload } from '../server.operations.js';
import { ServerRepository } from '../server.repository.js';
import type { AcceptedExec, ExecSummary, ExecView } from './dto/exec.dto.js';
import { ServerExec, type ExecStatus } from './server-exec.entity.js';

/** At most so many commands of a service at once, each in a lane of its own. */
const LANES = ['exec-1', 'exec-2', 'exec-3', 'exec-4'];
/** How many commands of a service are remembered. */
const KEPT = 200;
/** How many bytes of their outputs are kept when the next one begins. */
const OUTPUT_KEPT = 32 * 1024 * 1024;
const UNFINISHED: ExecStatus[] = ['QUEUED', 'RUNNING'];
const SHOWN = 500;

/** Accepts commands to be run in services, and tells what came of them. */
@Injectable()
export class ExecService {
  constructor(
    private readonly database: Database,
    private readonly servers: ServerRepository,
    private readonly operations: OperationsService,
    private readonly events: EventRecorder,
  ) {}

  async run(caller: Principal, serverId: string, command: string): Promise<AcceptedExec> {
    return this.database.transaction(async (tx) => {
      const { accountId, status } = await this.servers.lockOwned(tx, caller.accountId, serverId);
      if (status !== 'RUNNING') throw stateConflict('exec', status);
      const lane = await this.freeLane(tx, serverId);
      const id = newId('job');
      const operation = await this.operations.start(tx, {
        accountId,
        type: SERVER_OPERATIONS.exec,
        resourceId: serverId,
        payload: { jobId: id } satisfies ExecPayload,
        lane,
      });
      const exec = { id, serverId, operationId: operation.id, status: 'QUEUED', command } as const;
      const nothing = { exitCode: null, ...NO_OUTPUT, truncated: false, errorCode: null };
      await tx.manager.insert(ServerExec, { ...exec, ...nothing, createdAt: new Date() });
      await this.forgetOldest(tx, serverId);
      await this.events.record(tx, {
        accountId,
        resourceId: serverId,
        event: 'server:exec.create',
        properties: { jobId: id, command: truncate(command, SHOWN) },
        ...actorOf(caller),
      });
      return { jobId: id, status: 'QUEUED', operationId: operation.id };
    });
  }

  async get(caller: Principal, serverId: string, jobId: string): Promise<ExecView> {
    await this.servers.findOwned(caller.accountId, serverId);
    const exec = await this.database.manager.findOneBy(ServerExec, { id: jobId, serverId });
    if (!exec) throw notFound();
    return { ...summaryOf(exec), stdout: exec.stdout, stderr: exec.stderr };
  }

  async list(caller: Principal, serverId: string, { limit, cursor }: PageQuery): Promise<Page<ExecSummary>> {
    await this.servers.findOwned(caller.accountId, serverId);
    const before = cursor === undefined ? undefined : (decodeCursor(cursor, ['id'])[0] as string);
    const rows = await this.database.manager.find(ServerExec, {
      select: WITHOUT_OUTPUT,
      where: { serverId, ...(before === undefined ? {} : { id: LessThan(before) }) },
      order: { id: 'DESC' },
      take: limit + 1,
    });
    return Page.of(rows, limit, ({ id }) => [id]).map(summaryOf);
  }

  private async freeLane(tx: Tx, serverId: string): Promise<string> {
    for (const lane of LANES) {
      if (!(await this.operations.active(tx, serverId, lane))) return lane;
    }
    const detail = `A service runs at most ${LANES.length} commands at once.`;
    throw new DomainError('rate_limited', 'too_many_commands', detail, { retryAfterSeconds: 5 });
  }

  /** The oldest commands go, and the outputs of those that are left as far as there is no room for them. */
  private async forgetOldest(tx: Tx, serverId: string): Promise<void> {
    const newest = await tx.manager.find(ServerExec, {
      select: { id: true, outputBytes: true },
      where: { serverId },
      order: { id: 'DESC' },
      take: KEPT,
    });
    if (newest.length === KEPT) {
      const kept = MoreThanOrEqual(newest.at(-1)!.id);
      await tx.manager.delete(ServerExec, { serverId, id: Not(kept), status: Not(In(UNFINISHED)) });
    }
    let room = OUTPUT_KEPT;
    const tooMuch = newest.find(({ outputBytes }) => (room -= outputBytes) < 0);
    if (!tooMuch) return;
    const full = { serverId, id: LessThanOrEqual(tooMuch.id), outputBytes: MoreThan(0) };
    await tx.manager.update(ServerExec, full, { ...NO_OUTPUT, truncated: true });
  }
}

const NO_OUTPUT = { stdout: '', stderr: '', outputBytes: 0 };

const WITHOUT_OUTPUT: FindOptionsSelect<ServerExec> = {
  id: true,
  status: true,
  command: true,
  exitCode: true,
  truncated: true,
  errorCode: true,
  createdAt: true,
  startedAt: true,
  finishedAt: true,
};

function summaryOf(exec: ServerExec): ExecSummary {
  const { id, status, command, exitCode, truncated, errorCode, createdAt, startedAt, finishedAt } = exec;
  return { jobId: id, status, command, exitCode, truncated, reason: errorCode, createdAt, startedAt, finishedAt };
}
