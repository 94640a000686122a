import { Injectable } from '@nestjs/common';
import { Engine, EngineError, type InstanceUsage } from '../../../drivers/engine/engine.js';
import { unavailable } from '../../../platform/errors/domain-error.js';
import { engineName } from '../machine.operations.js';

/** Reads a machine's consumption from the engine. Changes nothing. */
@Injectable()
export class MachineUsageReader {
  constructor(private readonly engine: Engine) {}

  /** Null when there is no container (yet). */
  async instance(machineId: string): Promise<InstanceUsage | null> {
    try {
      return await this.engine.instanceUsage(engineName(machineId));
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      if (error.code === 'not_found') return null;
      if (error.code === 'unavailable' || error.code === 'timeout') throw unavailable('engine', error);
      throw error;
    }
  }

  async diskBytes(machineId: string): Promise<number> {
    return (await this.instance(machineId))?.rootBytes ?? 0;
  }
}
