import { Injectable } from '@nestjs/common';
import { Engine, EngineError } from '../../../../drivers/engine/engine.js';
import { engineName } from '../../server.operations.js';
import { asideName } from '../backup.operations.js';
import { unlessAway } from './unless-away.js';

/**
 * Puts a volume that was made aside in the place of a service's own, by renaming alone: at every moment the old data or the
 * new is there whole, and which one counts is told by the names. Every move can be repeated from wherever it was broken off.
 *
 *     own + made  ->  old + made  ->  own + old  ->  own
 */
@Injectable()
export class VolumeSwap {
  constructor(private readonly engine: Engine) {}

  /** Whatever earlier attempts left aside. The service has its own volume. */
  async clear(serverId: string): Promise<void> {
    const { own, made, old } = names(serverId);
    await this.engine.getVolume(own);
    await this.engine.deleteInstance(made);
    for (const name of [made, old]) await this.engine.deleteVolume(name);
  }

  async swap(serverId: string): Promise<void> {
    const { own, made, old } = names(serverId);
    if (!(await this.has(made))) return;
    if (await this.has(own)) await this.engine.renameVolume(own, old);
    await this.engine.renameVolume(made, own);
  }

  /** Gives the service its old volume back, if that is not given up yet. */
  async undo(serverId: string): Promise<void> {
    const { own, made, old } = names(serverId);
    if (!(await this.has(old))) return;
    if (await this.has(own)) await this.engine.renameVolume(own, made);
    await this.engine.renameVolume(old, own);
  }

  /** Gives the old volume up. The renaming is the point of no return: a volume that is half removed is never put back. */
  async giveUpOld(serverId: string): Promise<void> {
    const { made, old } = names(serverId);
    if (await this.has(old)) await this.engine.renameVolume(old, made);
    await unlessAway(this.engine.deleteVolume(made));
  }

  private async has(name: string): Promise<boolean> {
    try {
      await this.engine.getVolume(name);
      return true;
    } catch (error) {
      if (error instanceof EngineError && error.code === 'not_found') return false;
      throw error;
    }
  }
}

function names(serverId: string) {
  return { own: engineName(serverId), made: asideName('rst', serverId), old: asideName('old', serverId) };
}
