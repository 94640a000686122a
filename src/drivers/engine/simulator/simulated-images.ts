import { createHash } from 'node:crypto';
import type { EngineImage } from '../engine.js';

/** An image that is there from the start: its alias, or more of it. */
export type GivenImage = string | Pick<EngineImage, 'alias' | 'sizeBytes' | 'properties'>;

export class SimulatedImages {
  private readonly images = new Map<string, EngineImage>();

  constructor(given: readonly GivenImage[]) {
    for (const image of given) {
      if (typeof image === 'string') this.add(image, 0, {});
      else this.add(image.alias, image.sizeBytes, image.properties);
    }
  }

  add(alias: string, sizeBytes: number, properties: Record<string, string>): void {
    const fingerprint = createHash('sha256')
      .update(`${alias}:${JSON.stringify(properties)}`)
      .digest('hex');
    this.images.set(alias, { alias, fingerprint, sizeBytes, properties: { ...properties } });
  }

  has(alias: string): boolean {
    return this.images.has(alias);
  }

  all(): EngineImage[] {
    return structuredClone([...this.images.values()]);
  }
}
