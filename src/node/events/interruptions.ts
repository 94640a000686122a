import type { EngineInstance } from '../../drivers/engine/engine.js';

/** For so long the end of an instance may look like that of one that the engine went down with. */
const UNSURE_MS = 30_000;
/** The same for those that were so when the engine was first looked at after it came (back): it is what is expected then. */
const UNSURE_AT_FIRST_MS = 4000;

/** Tells which instances an engine, or its machine, went down with. */
export class Interruptions {
  /** Since when each of them has been so without a break, in milliseconds. */
  private since = new Map<string, number>();
  private first = true;

  /** The engine is there (again). */
  begin(): void {
    this.first = true;
  }

  /** By name whether it is sure; the others ended by themselves, or run. */
  among(instances: Pick<EngineInstance, 'name' | 'interrupted'>[], now = Date.now()): ReadonlyMap<string, boolean> {
    const unknown = this.first ? now - UNSURE_MS + UNSURE_AT_FIRST_MS : now;
    const found = instances.filter(({ interrupted }) => interrupted);
    const known = this.first ? new Map<string, number>() : this.since;
    this.since = new Map(found.map(({ name }) => [name, known.get(name) ?? unknown]));
    this.first = false;
    return new Map(found.map(({ name }) => [name, now - this.since.get(name)! >= UNSURE_MS]));
  }
}
