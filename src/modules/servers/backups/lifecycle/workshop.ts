import { Inject, Injectable, Optional } from '@nestjs/common';
import { DirectPath } from '../../../../drivers/engine/direct-path.js';
import { Engine } from '../../../../drivers/engine/engine.js';
import { InstanceMoves } from '../../../instances/lifecycle/instance-moves.service.js';
import type { Server } from '../../server.entity.js';

const MEMORY_MB = 256;

/** Containers for work on a volume that nobody else uses. */
@Injectable()
export class Workshop {
  constructor(
    private readonly engine: Engine,
    private readonly moves: InstanceMoves,
    @Optional() @Inject(DirectPath) private readonly direct: DirectPath | null,
  ) {}

  /** A fresh one of that name, whatever an attempt before has left. */
  async open(name: string, server: Server): Promise<void> {
    await this.engine.deleteInstance(name);
    const { id: owner, image } = server;
    const folder = this.direct?.folderOf(name);
    await this.moves.inCreationTurn(() =>
      this.engine.createWorkshop({ name, owner, image, volume: name, memoryMb: MEMORY_MB, ...(folder && { folder }) }),
    );
  }

  /** Removes the workshop of that name. */
  async close(name: string): Promise<void> {
    await this.engine.deleteInstance(name);
    this.direct?.remove(name);
  }

  /** Removes the workshop of that name and its volume. */
  async discard(name: string): Promise<void> {
    await this.close(name);
    await this.engine.deleteVolume(name);
  }
}
