import { Injectable } from '@nestjs/common';
import { Engine, EngineError, type InstanceUsage } from '../../../drivers/engine/engine.js';
import { unavailable } from '../../../platform/errors/domain-error.js';
import { engineName } from '../server.operations.js';

/** Reads a service's consumption from the engine. Changes nothing. */
@Injectable()
export class ServerUsageReader {
  constructor(private readonly engine: Engine) {}

  /** Null when there is no container (yet). */
  async instance(serverId: string): Promise<InstanceUsage | null> {
    return orNull(this.engine.instanceUsage(engineName(serverId)));
  }

  async diskBytes(serverId: string): Promise<number> {
    return (await orNull(this.engine.volumeUsage(engineName(serverId)))) ?? 0;
  }
}

async function orNull<T>(reading: Promise<T>): Promise<T | null> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    if (error.code === 'not_found') return null;
    if (error.code === 'unavailable' || error.code === 'timeout') throw unavailable('engine', error);
    throw error;
  }
}
