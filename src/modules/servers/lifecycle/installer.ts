import { Injectable } from '@nestjs/common';
import pLimit from 'p-limit';
import { Config } from '../../../config/config.js';
import { Engine, EngineError } from '../../../drivers/engine/engine.js';
import { Database } from '../../../platform/database/database.js';
import { OperationFailed, RunAgain, type StepContext } from '../../../platform/operations/operation-handler.js';
import { ServerInstallation } from '../install/server-installation.entity.js';
import { engineName } from '../server.operations.js';
import { ServiceContainer } from './service-container.js';

const LOG_CHARACTERS = 256 * 1024;
/** How long a step waits by itself before it hands the operation back, so that long installations hold no worker. */
const PATIENCE_MS = 8000;
const AGAIN_MS = 1500;
const FIRST_POLL_MS = 100;
const SLOWEST_POLL_MS = 1500;
/** Looking into a container costs the engine a process each time: many installations at once take turns at it. */
const LOOKS_AT_ONCE = 2;

/**
 * Runs the installation of a fresh container. The container's first start installs and, when that succeeded, goes on to
 * the program by itself; this waits for the installation's record and keeps its log.
 */
@Injectable()
export class Installer {
  private readonly look = pLimit(LOOKS_AT_ONCE);

  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly engine: Engine,
    private readonly container: ServiceContainer,
  ) {}

  /**
   * Only the very first start is ours: a container that ran and stands still was killed while it installed. One that runs is
   * started again all the same, for the engine may have ended before it was done with that.
   */
  async begin({ operation }: StepContext): Promise<void> {
    const { state, startedAt } = await this.engine.getInstance(engineName(operation.resourceId));
    if (startedAt === null || state === 'running') await this.container.start(operation.resourceId);
  }

  /** Waits for the end of what `begin` began. */
  async wait({ operation, signal }: StepContext): Promise<void> {
    const serverId = operation.resourceId;
    const name = engineName(serverId);
    const instance = await this.engine.getInstance(name);
    const begun = instance.startedAt?.getTime() ?? Date.now();
    const deadline = begun + this.config.installTimeoutSeconds * 1000;
    const patience = Date.now() + PATIENCE_MS;
    for (let pause = FIRST_POLL_MS; ; pause = Math.min(pause * 1.6, SLOWEST_POLL_MS)) {
      signal.throwIfAborted();
      const exit = await this.look(() => this.engine.installExit(name));
      if (exit) {
        await this.keepLog(serverId, name, exit.code);
        if (exit.code === 0) return;
        throw new OperationFailed('install_failed', `The installation ended with exit code ${exit.code}.`);
      }
      if (await this.endedWithoutRecord(name)) {
        await this.keepLog(serverId, name, null);
        throw new OperationFailed('install_interrupted', 'The installation was cut off.');
      }
      if (Date.now() > deadline) {
        await this.container.kill(serverId);
        await this.keepLog(serverId, name, null);
        const limit = this.config.installTimeoutSeconds;
        throw new OperationFailed('install_timeout', `The installation took longer than ${limit} seconds.`);
      }
      if (Date.now() > patience) throw new RunAgain(AGAIN_MS);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  private async endedWithoutRecord(name: string): Promise<boolean> {
    const { state } = await this.engine.getInstance(name);
    return state === 'stopped' && (await this.engine.installExit(name)) === null;
  }

  private async keepLog(serverId: string, name: string, exitCode: number | null): Promise<void> {
    const log = await this.readLog(name);
    await this.database.manager.upsert(
      ServerInstallation,
      { serverId, exitCode, log, finishedAt: new Date() },
      { conflictPaths: ['serverId'] },
    );
  }

  /** The console's text; an installation is not failed for a log that cannot be had. */
  private async readLog(name: string): Promise<string> {
    try {
      return (await this.engine.consoleLog(name)).replaceAll('\r\n', '\n').slice(-LOG_CHARACTERS);
    } catch (error) {
      if (error instanceof EngineError && error.code !== 'unavailable') return '';
      throw error;
    }
  }
}
