import { setTimeout as delay } from 'node:timers/promises';
import type { DirectPath } from '../../drivers/engine/direct-path.js';
import { Engine, EngineError, type ExecSession } from '../../drivers/engine/engine.js';
import type { AppLogger } from '../../platform/observability/logger.js';

/** How long a workshop that nobody uses is kept for the next one who comes. */
const IDLE_MS = 3 * 60_000;
const MEMORY_MB = 256;
const ATTEMPTS = 3;
const PREFIX = 'fil-';

/** The program in the images that ends up as the SFTP server, confined to the files. */
const SFTP_SERVER = '/usr/local/lib/berth/sftp';

const AS_ROOT = { user: 0, group: 0, cwd: '/', environment: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } };

interface Workshop {
  users: number;
  idle: NodeJS.Timeout | undefined;
}

/**
 * Containers through which files are reached, whether their service runs or not: each holds the volume of one service, is
 * made when somebody logs in, and removed when nobody has been there for some minutes.
 */
export class Workshops {
  private readonly open = new Map<string, Workshop>();
  /** One change of a workshop at a time. */
  private readonly turns = new Map<string, Promise<unknown>>();
  private readonly cleared: Promise<void>;

  /** Without `direct` all bytes pass through the engine. */
  constructor(
    private readonly node: string,
    private readonly engine: Engine,
    private readonly direct: DirectPath | null,
    private readonly log: AppLogger,
  ) {
    this.cleared = this.removeLeftovers();
  }

  /** Starts an SFTP server on the files of a service. `release` is to be called when the session has ended. */
  async enter(serverId: string, image: string): Promise<{ server: ExecSession; release: () => void }> {
    await this.cleared;
    const workshop = this.open.get(serverId) ?? { users: 0, idle: undefined };
    this.open.set(serverId, workshop);
    workshop.users++;
    clearTimeout(workshop.idle);
    let left = false;
    const release = () => {
      if (left) return;
      left = true;
      workshop.users--;
      if (workshop.users > 0) return;
      workshop.idle = setTimeout(() => void this.leave(serverId), IDLE_MS);
      workshop.idle.unref();
    };
    try {
      return { server: await this.startServer(serverId, image), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Removes those that an earlier process of this node left behind. */
  private async removeLeftovers(): Promise<void> {
    try {
      const left = (await this.engine.listInstances()).filter(({ node }) => node === this.node);
      for (const { name } of left) {
        await this.engine.deleteInstance(name);
        this.direct?.remove(name);
      }
      if (left.length > 0) this.log.info({ count: left.length }, 'removed workshops of an earlier run');
    } catch (error) {
      this.log.warn({ err: error }, 'workshops of an earlier run could not be removed');
    }
  }

  async close(): Promise<void> {
    for (const { idle } of this.open.values()) clearTimeout(idle);
    await Promise.all([...this.open.keys()].map((serverId) => this.remove(serverId)));
  }

  private async startServer(serverId: string, image: string): Promise<ExecSession> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.inTurn(serverId, () => this.ensure(serverId, image));
        const start = (command: string[]) => this.engine.exec(nameOf(serverId), { ...AS_ROOT, command });
        return await (this.direct?.open(nameOf(serverId), [SFTP_SERVER], start) ?? start([SFTP_SERVER]));
      } catch (error) {
        // It was removed or ended in between, as when its service is made anew.
        if (!(error instanceof EngineError) || error.code === 'unavailable' || attempt === ATTEMPTS) throw error;
        await delay(200 * attempt);
      }
    }
  }

  private async ensure(serverId: string, image: string): Promise<void> {
    const name = nameOf(serverId);
    const folder = this.direct?.folderOf(name);
    try {
      // Asked first: to start what runs costs the engine several times as much.
      if ((await this.engine.getInstance(name)).state !== 'running') await this.engine.startInstance(name);
    } catch (error) {
      if (!(error instanceof EngineError) || error.code !== 'not_found') throw error;
      const volume = serverId.replace('_', '-');
      await this.engine.createWorkshop({
        name,
        owner: serverId,
        image,
        volume,
        memoryMb: MEMORY_MB,
        node: this.node,
        ...(folder && { folder }),
      });
    }
  }

  private async leave(serverId: string): Promise<void> {
    try {
      await this.remove(serverId);
    } catch (error) {
      this.log.warn({ err: error, serverId }, 'a workshop could not be removed; the next start of the node does it');
    }
  }

  private async remove(serverId: string): Promise<void> {
    await this.inTurn(serverId, async () => {
      if ((this.open.get(serverId)?.users ?? 0) > 0) return;
      await this.engine.deleteInstance(nameOf(serverId));
      this.direct?.remove(nameOf(serverId));
      this.open.delete(serverId);
    });
  }

  private async inTurn(serverId: string, work: () => Promise<void>): Promise<void> {
    const turn = (this.turns.get(serverId) ?? Promise.resolve()).catch(() => {}).then(work);
    this.turns.set(serverId, turn);
    try {
      await turn;
    } finally {
      if (this.turns.get(serverId) === turn) this.turns.delete(serverId);
    }
  }
}

/** Of the service's id, as everything the platform makes in the engine. */
function nameOf(serverId: string): string {
  return serverId.replace(/^srv_/, PREFIX);
}
