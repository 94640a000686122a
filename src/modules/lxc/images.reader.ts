import { Injectable } from '@nestjs/common';
import { Engine, EngineError } from '../../drivers/engine/engine.js';
import { unavailable } from '../../platform/errors/domain-error.js';
import type { MachineImage } from './dto/machine.dto.js';

/** Property of the images that the operator lets tenants choose among. */
const FOR_MACHINES = 'berth.machine';

/** Reads which images machines can be made from. */
@Injectable()
export class MachineImages {
  constructor(private readonly engine: Engine) {}

  async list(): Promise<MachineImage[]> {
    const images = await this.read();
    return images
      .filter(({ properties }) => properties[FOR_MACHINES] === 'true')
      .map(({ alias, sizeBytes, properties }) => ({
        alias,
        description: properties.description ?? alias,
        os: properties.os ?? '',
        release: properties.release ?? '',
        sizeBytes,
      }))
      .sort((a, b) => (a.alias < b.alias ? -1 : 1));
  }

  async has(alias: string): Promise<boolean> {
    return (await this.list()).some((image) => image.alias === alias);
  }

  private async read() {
    try {
      return await this.engine.listImages();
    } catch (error) {
      if (error instanceof EngineError) throw unavailable('engine', error);
      throw error;
    }
  }
}
