import { Injectable } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { Engine, EngineError } from '../../../drivers/engine/engine.js';
import { Database } from '../../../platform/database/database.js';
import { OperationFailed } from '../../../platform/operations/operation-handler.js';
import { Server } from '../server.entity.js';
import { engineName, filesWorkshopName } from '../server.operations.js';
import { InstanceBuilder, type Phase } from './instance-builder.js';

const CREATION_WAIT_SECONDS = 120;

const START_ATTEMPTS = 3;
/** Long enough for the node to see that the engine is back and to end what a killed one left on the ports. */
const PORT_ATTEMPTS = 12;
const START_PAUSE_MS = 700;

/** Idempotent moves of one service's container and volume, that the operations are made of. */
@Injectable()
export class ServiceContainer {
  private lastCreation: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly engine: Engine,
    private readonly builder: InstanceBuilder,
  ) {}

  async ensureVolume(server: Server): Promise<void> {
    await tolerate(
      'exists',
      this.engine.createVolume({ name: engineName(server.id), sizeMb: server.disk, owner: server.id }),
    );
  }

  /**
   * What is there and never ran may be half made: an engine that was killed in the middle keeps such a container, cannot
   * start it, and cannot even remove it once that was tried. So it is made anew; there is nothing in it to be lost.
   */
  async ensureInstance(server: Server, phase: Phase): Promise<void> {
    const spec = await this.builder.spec(server, phase);
    await this.inCreationTurn(async () => {
      const found = await this.find(spec.name);
      if (found?.startedAt === null) await this.engine.deleteInstance(spec.name);
      await tolerate('exists', this.engine.createInstance(spec));
    });
  }

  /**
   * Engines give isolated user ids out without a lock of their own, so two creations at the same moment may share them. Only
   * the first in this process waits for other processes: the others would each hold a connection for it.
   */
  inCreationTurn(create: () => Promise<void>): Promise<void> {
    const creation = this.lastCreation.then(() =>
      this.database.inTurn('berth:create-instance', CREATION_WAIT_SECONDS, create),
    );
    this.lastCreation = creation.catch(() => undefined);
    return creation;
  }

  /** The workshop through which its files are reached goes with it: nothing is to hold the volume, or change it, meanwhile. */
  async removeInstance(serverId: string): Promise<void> {
    await this.engine.deleteInstance(filesWorkshopName(serverId));
    await this.engine.deleteInstance(engineName(serverId));
  }

  async removeVolume(serverId: string): Promise<void> {
    await this.engine.deleteVolume(engineName(serverId));
  }

  /**
   * Makes a stopped container what the rows say: another image means another container on the same volume, and changed
   * variables take effect at the start that follows.
   */
  async prepareToRun(server: Server): Promise<void> {
    const name = engineName(server.id);
    const found = await this.find(name);
    if (found?.state === 'running') return;
    if (found && found.image === server.image) {
      const environment = await this.builder.environment(server, 'run');
      if (!sameEntries(found.environment, environment)) await this.engine.setEnvironment(name, environment);
      return;
    }
    if (found) await this.engine.deleteInstance(name);
    await this.ensureInstance(server, 'run');
  }

  /** Tried a few times: what ran before may hold its ports for a moment after the engine says that it has ended. */
  async start(serverId: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.engine.startInstance(engineName(serverId));
      } catch (error) {
        if (!(error instanceof EngineError) || (error.code !== 'failed' && error.code !== 'conflict')) throw error;
        if (attempt >= (error.code === 'conflict' ? PORT_ATTEMPTS : START_ATTEMPTS)) {
          throw new OperationFailed('start_failed', 'The container could not be started.', { cause: error });
        }
        await delay(START_PAUSE_MS);
      }
    }
  }

  /** True once stopped; false when the program has not ended in time. */
  async stop(serverId: string, timeoutMs: number): Promise<boolean> {
    try {
      await this.engine.stopInstance(engineName(serverId), timeoutMs);
      return true;
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      if (error.code === 'not_found') return true;
      if (error.code === 'timeout') return false;
      throw error;
    }
  }

  async kill(serverId: string): Promise<void> {
    await tolerate('not_found', this.engine.killInstance(engineName(serverId)));
  }

  private async find(name: string) {
    try {
      return await this.engine.getInstance(name);
    } catch (error) {
      if (error instanceof EngineError && error.code === 'not_found') return null;
      throw error;
    }
  }
}

/** Takes an error that says the wanted state holds already for success. */
export async function tolerate(code: 'exists' | 'not_found', work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof EngineError) || error.code !== code) throw error;
  }
}

function sameEntries(a: Record<string, string>, b: Record<string, string>): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
