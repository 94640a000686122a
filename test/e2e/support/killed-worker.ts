import { setTimeout as delay } from 'node:timers/promises';
import { engineName } from '../../../src/modules/servers/server.operations.js';
import { EngineProxy, type FaultPoint, type SeenRequest } from '../../support/engine-proxy.js';
import type { RoleProcess } from '../../support/role-process.js';
import { stack } from '../../support/stack.js';
import type { Hosting } from './hosting.js';

/** The worker waits 10 s for an answer, then it counts as lost: it is killed before that. */
const PATIENCE_MS = 6000;

/** A worker that reaches the engine through a proxy which holds its requests, and is killed while they are held. */
export class KilledWorker {
  private constructor(
    private readonly hosting: Hosting,
    readonly proxy: EngineProxy,
    private readonly settings: Record<string, string>,
    private worker: RoleProcess,
  ) {}

  /** The worker of a platform that has none. */
  static async start(hosting: Hosting, settings: Record<string, string> = {}): Promise<KilledWorker> {
    const proxy = await EngineProxy.start(stack.env().ENGINE_URL!);
    const all = { ...settings, ENGINE_URL: proxy.url };
    return new KilledWorker(hosting, proxy, all, await hosting.add(['worker'], all));
  }

  async close(): Promise<void> {
    await this.worker.kill();
    this.proxy.close();
  }

  /**
   * Kills the worker whenever operations stand at their points, and starts another, until all have ended. Several times,
   * because an engine is asked for one new container at a time: what stands there keeps others from coming to their points.
   */
  async interrupt(): Promise<void> {
    const { proxy } = this;
    for (;;) {
      const left = await this.unfinished();
      if (left.length === 0) break;
      const stand = left.every((name) => proxy.holds(name)) || (proxy.quietFor > 1000 && (await this.allTaken()));
      if (proxy.heldFor === 0 || !(stand || proxy.heldFor > PATIENCE_MS)) {
        if (proxy.quietFor > 30_000) throw new Error(`Nothing goes on with ${left.join(', ')}`);
        await delay(50);
        continue;
      }
      await this.worker.kill();
      proxy.forgetHeld();
      this.worker = await this.hosting.add(['worker'], this.settings);
    }
  }

  /** Whether a worker that is there has every operation, so that there is nothing to come of which it does not know. */
  private async allTaken(): Promise<boolean> {
    const waiting = await this.hosting.rows(
      "SELECT id FROM operations WHERE status = 'QUEUED' OR (status = 'RUNNING' AND lease_until < UTC_TIMESTAMP(3))",
    );
    return waiting.length === 0;
  }

  /** Services of which an operation has not ended, by their names in the engine. */
  async unfinished(): Promise<string[]> {
    const rows = await this.hosting.rows<{ id: string }>(
      "SELECT DISTINCT resource_id AS id FROM operations WHERE status IN ('QUEUED', 'RUNNING')",
    );
    return rows.map(({ id }) => engineName(id));
  }
}

/**
 * The points at which it makes a difference whether the worker is killed: before and after each change, and when a change
 * that goes on in the background has ended. Requests that only ask, or were refused, change nothing between their neighbours.
 */
export function pointsOf(requests: SeenRequest[]): FaultPoint[] {
  const counts = new Map<string, number>();
  return requests.flatMap(({ what, refused }) => {
    const occurrence = counts.get(what) ?? 0;
    counts.set(what, occurrence + 1);
    const after: FaultPoint = { what, occurrence, when: 'after' };
    if (refused || what.startsWith('GET ')) return [];
    return what.startsWith('wait for ') ? [after] : [{ ...after, when: 'before' }, after];
  });
}

/**
 * Those at which the engine goes on by itself with what it was asked: what only a real one can do. All the others are tried on
 * the simulator, in test/integration/faults.
 */
export function pointsUnderWay(requests: SeenRequest[]): FaultPoint[] {
  return pointsOf(requests).filter(({ what, when }) => when === 'after' && !what.startsWith('wait for '));
}
