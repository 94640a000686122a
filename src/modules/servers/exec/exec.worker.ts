import { Injectable } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { In } from 'typeorm';
import { Engine, EngineError, type ExecSession } from '../../../drivers/engine/engine.js';
import { Database, type Tx } from '../../../platform/database/database.js';
import { EventRecorder, SYSTEM } from '../../../platform/events/event-recorder.js';
import {
  HandlesOperation,
  OperationFailed,
  OperationHandler,
  type OperationFailure,
  type OperationStep,
} from '../../../platform/operations/operation-handler.js';
import { Operation } from '../../../platform/operations/operation.entity.js';
import { InstanceBuilder } from '../lifecycle/instance-builder.js';
import { engineName, SERVER_OPERATIONS, type ExecPayload } from '../server.operations.js';
import { ServerRepository } from '../server.repository.js';
import { ExecOutput } from './exec-output.js';
import { ExecSlots } from './exec-slots.js';
import { ServerExec, type ExecStatus } from './server-exec.entity.js';

const DEADLINE_MS = 60_000;
/** How long the last of the output may take after the end. */
const SETTLE_MS = 5000;
const USER = 1000;
const HOME = '/home/container';
/** What the image's entry gives the service's own program. */
const SURROUNDINGS = {
  HOME,
  USER: 'container',
  LOGNAME: 'container',
  PATH: `${HOME}/.local/bin:/usr/local/bin:/usr/bin:/bin`,
  LANG: 'C.UTF-8',
};
const UNFINISHED: ExecStatus[] = ['QUEUED', 'RUNNING'];

/**
 * Runs a command in a service, once: when the process that ran it is gone, nobody knows how far it got, and it is not begun
 * again.
 */
@Injectable()
@HandlesOperation(SERVER_OPERATIONS.exec)
export class ExecWorker extends OperationHandler {
  constructor(
    private readonly database: Database,
    private readonly servers: ServerRepository,
    private readonly builder: InstanceBuilder,
    private readonly engine: Engine,
    private readonly events: EventRecorder,
    private readonly atOnce: ExecSlots,
  ) {
    super();
  }

  steps(operation: Operation): OperationStep[] {
    return [{ name: 'run', run: ({ signal }) => this.run(operation, signal) }];
  }

  async onDone(tx: Tx, operation: Operation): Promise<void> {
    await this.tell(tx, operation);
  }

  async onFailed(tx: Tx, operation: Operation, { code }: OperationFailure): Promise<void> {
    const { jobId: id } = operation.payload as ExecPayload;
    const failed = { status: 'FAILED', errorCode: code, finishedAt: new Date() } as const;
    await tx.manager.update(ServerExec, { id, status: In(UNFINISHED) }, failed);
    await this.tell(tx, operation);
  }

  override async onCancelled(tx: Tx, operation: Operation): Promise<void> {
    await this.onFailed(tx, operation, { code: 'cancelled', detail: '' });
  }

  /** What was interrupted is not run again, only told of. */
  override slots(step: string | null): ExecSlots | null {
    return step === null ? this.atOnce : null;
  }

  private async run({ payload, resourceId }: Operation, signal: AbortSignal): Promise<void> {
    const { jobId: id } = payload as ExecPayload;
    const begun = { status: 'RUNNING', startedAt: new Date() } as const;
    const [claimed, exec] = await Promise.all([
      this.database.manager.update(ServerExec, { id, status: 'QUEUED' }, begun),
      this.database.manager.findOneBy(ServerExec, { id }),
    ]);
    if (!exec) throw new OperationFailed('gone', 'The service was deleted.');
    if (claimed.affected !== 1) return this.mustHaveEnded(exec);
    const session = await this.begin(resourceId, exec.command);
    await this.follow(session, id, signal);
  }

  /** The step is run again after an interruption; if that came after the end, there is nothing left to do. */
  private mustHaveEnded({ status }: ServerExec): void {
    if (UNFINISHED.includes(status)) {
      throw new OperationFailed('interrupted', 'The platform was interrupted while the command ran.');
    }
  }

  private async begin(serverId: string, command: string): Promise<ExecSession> {
    const server = await this.servers.require(serverId);
    const { BERTH_PHASE: _, ...environment } = await this.builder.environment(server, 'run');
    try {
      return await this.engine.exec(engineName(serverId), {
        command: ['/bin/sh', '-c', command],
        user: USER,
        group: USER,
        cwd: HOME,
        environment: { ...SURROUNDINGS, ...environment, HOME },
      });
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      throw new OperationFailed('not_started', 'The command could not be started.', { cause: error });
    }
  }

  private async follow(session: ExecSession, id: string, signal: AbortSignal): Promise<void> {
    const [stdout, stderr] = [new ExecOutput(), new ExecOutput()];
    session.stdin.on('error', () => {});
    session.stdin.end();
    const reading = Promise.all([stdout.readFrom(session.stdout), stderr.readFrom(session.stderr)]);
    let late = false;
    const kill = () => void session.kill();
    const deadline = setTimeout(() => {
      late = true;
      kill();
    }, DEADLINE_MS);
    signal.addEventListener('abort', kill, { once: true });
    let exitCode: number | null = null;
    try {
      exitCode = await session.exit;
      await Promise.race([reading, delay(SETTLE_MS, undefined, { ref: false })]);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
    } finally {
      clearTimeout(deadline);
      signal.removeEventListener('abort', kill);
      session.stdout.destroy();
      session.stderr.destroy();
    }
    signal.throwIfAborted();
    const [out, err] = [stdout.kept(), stderr.kept()];
    const output = {
      stdout: out.text,
      stderr: err.text,
      outputBytes: out.bytes + err.bytes,
      truncated: out.truncated || err.truncated,
      finishedAt: new Date(),
    };
    const outcome = late
      ? ({ status: 'TIMEOUT', exitCode: null } as const)
      : exitCode === null
        ? ({ status: 'FAILED', exitCode: null, errorCode: 'interrupted' } as const)
        : ({ status: 'DONE', exitCode } as const);
    await this.database.manager.update(ServerExec, { id, status: 'RUNNING' }, { ...output, ...outcome });
    if (late) throw new OperationFailed('timeout', `The command was ended after ${DEADLINE_MS / 1000} seconds.`);
    if (exitCode === null) throw new OperationFailed('interrupted', 'The service ended while the command ran.');
  }

  private async tell(tx: Tx, { accountId, resourceId, payload }: Operation): Promise<void> {
    const { jobId } = payload as ExecPayload;
    const exec = await tx.manager.findOneBy(ServerExec, { id: jobId });
    if (!exec) return;
    const properties = { jobId, status: exec.status, exitCode: exec.exitCode };
    await this.events.record(tx, { accountId, resourceId, event: 'server:exec.finish', properties, ...SYSTEM });
  }
}
