import { Injectable } from '@nestjs/common';

/** Somebody who has instances or volumes in the engine. */
export interface EngineOwner {
  /** Whether a name is one of those that it gives. */
  gives(name: string): boolean;
  /** Those of its names that something of its rows owns. `volumes` are all that there are. */
  ownedAmong(names: string[], volumes: ReadonlySet<string>): Promise<Set<string>>;
  /** Starts over the deletions that gave up: the accounts were told that these things are gone. */
  finishDeletions(): Promise<void>;
}

/** Who has something in the engine. Whoever makes anything there registers, or it is left alone as somebody else's. */
@Injectable()
export class EngineOwners {
  readonly all: EngineOwner[] = [];

  register(owner: EngineOwner): void {
    this.all.push(owner);
  }
}
