import { Injectable } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { Engine, EngineError, type EngineInstance } from '../../../drivers/engine/engine.js';
import { Database } from '../../../platform/database/database.js';
import { OperationFailed } from '../../../platform/operations/operation-handler.js';

const CREATION_WAIT_SECONDS = 120;

const START_ATTEMPTS = 3;
/** Long enough for the node to see that the engine is back and to end what a killed one left on the ports. */
const PORT_ATTEMPTS = 12;
const START_PAUSE_MS = 700;

/** Idempotent moves of one instance in the engine, whatever it is for. */
@Injectable()
export class InstanceMoves {
  private lastCreation: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly engine: Engine,
  ) {}

  /**
   * What is there and never ran may be half made: an engine that was killed in the middle keeps such a container, cannot
   * start it, and cannot even remove it once that was tried. So it is made anew; there is nothing in it to be lost.
   */
  async ensure(name: string, create: () => Promise<void>): Promise<void> {
    await this.inCreationTurn(async () => {
      const found = await this.find(name);
      if (found?.startedAt === null) await this.engine.deleteInstance(name);
      await tolerate('exists', create());
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

  /** Tried a few times: what ran before may hold its ports for a moment after the engine says that it has ended. */
  async start(name: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.engine.startInstance(name);
      } catch (error) {
        if (!(error instanceof EngineError) || (error.code !== 'failed' && error.code !== 'conflict')) throw error;
        if (attempt >= (error.code === 'conflict' ? PORT_ATTEMPTS : START_ATTEMPTS)) {
          throw new OperationFailed('start_failed', 'The container could not be started.', { cause: error });
        }
        await delay(START_PAUSE_MS);
      }
    }
  }

  /** True once stopped; false when it has not ended in time. */
  async stop(name: string, timeoutMs: number): Promise<boolean> {
    try {
      await this.engine.stopInstance(name, timeoutMs);
      return true;
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      if (error.code === 'not_found') return true;
      if (error.code === 'timeout') return false;
      throw error;
    }
  }

  async kill(name: string): Promise<void> {
    await tolerate('not_found', this.engine.killInstance(name));
  }

  async find(name: string): Promise<EngineInstance | null> {
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
