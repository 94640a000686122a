import { Injectable } from '@nestjs/common';
import { Engine } from '../../../drivers/engine/engine.js';
import { InstanceMoves, tolerate } from '../../instances/lifecycle/instance-moves.service.js';
import { Server } from '../server.entity.js';
import { engineName, filesWorkshopName } from '../server.operations.js';
import { InstanceBuilder, type Phase } from './instance-builder.js';

/** Idempotent moves of one service's container and volume, that the operations are made of. */
@Injectable()
export class ServiceContainer {
  constructor(
    private readonly engine: Engine,
    private readonly moves: InstanceMoves,
    private readonly builder: InstanceBuilder,
  ) {}

  async ensureVolume(server: Server): Promise<void> {
    await tolerate(
      'exists',
      this.engine.createVolume({ name: engineName(server.id), sizeMb: server.disk, owner: server.id }),
    );
  }

  async ensureInstance(server: Server, phase: Phase): Promise<void> {
    const spec = await this.builder.spec(server, phase);
    await this.moves.ensure(spec.name, () => this.engine.createInstance(spec));
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
    const found = await this.moves.find(name);
    if (found?.state === 'running') return;
    if (found && found.image === server.image) {
      const environment = await this.builder.environment(server, 'run');
      if (!sameEntries(found.environment, environment)) await this.engine.setEnvironment(name, environment);
      return;
    }
    if (found) await this.engine.deleteInstance(name);
    await this.ensureInstance(server, 'run');
  }

  start(serverId: string): Promise<void> {
    return this.moves.start(engineName(serverId));
  }

  /** True once stopped; false when the program has not ended in time. */
  stop(serverId: string, timeoutMs: number): Promise<boolean> {
    return this.moves.stop(engineName(serverId), timeoutMs);
  }

  kill(serverId: string): Promise<void> {
    return this.moves.kill(engineName(serverId));
  }
}

function sameEntries(a: Record<string, string>, b: Record<string, string>): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
