import { setTimeout as pause } from 'node:timers/promises';
import type { AppLogger } from '../../platform/observability/logger.js';
import { metrics } from '../../platform/observability/metrics.js';
import { BtrfsPool } from './btrfs-pool.js';

const LOOK_EVERY_MS = 3000;

/**
 * Keeps the engine's pool holding volumes to their sizes: looks whether it does, and repairs it when it does not. Only
 * root may repair; a process of another user tells of it, and `berth engine keep-limits` run by root does the work.
 */
export class DiskLimits {
  private readonly ending = new AbortController();
  private readonly enforced = metrics.gauge(
    'berth_disk_limits_enforced',
    '1 while the pool holds volumes to their sizes',
  );
  private round: Promise<void> = Promise.resolve();
  private readonly mayRepair = process.getuid?.() === 0;
  private failing = false;

  constructor(
    private readonly engineUrl: string,
    private readonly pool: string,
    private readonly log: AppLogger,
  ) {}

  start(): void {
    this.round = this.keepOn();
  }

  async stop(): Promise<void> {
    this.ending.abort();
    await this.round;
  }

  private async keepOn(): Promise<void> {
    const { signal } = this.ending;
    while (!signal.aborted) {
      try {
        await this.look();
        this.failing = false;
      } catch (error) {
        if (!this.failing && !signal.aborted) {
          this.log.error({ err: error, pool: this.pool }, 'disk limits are not enforced and could not be repaired');
        }
        this.failing = true;
      }
      await pause(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** Found anew at every look: the engine may have mounted its pool only now, or again. */
  private async look(): Promise<void> {
    const pool = await BtrfsPool.find(this.engineUrl, this.pool);
    if (pool === null) return this.enforced.remove();
    if (await pool.enforces()) {
      this.enforced.set(1);
    } else {
      this.enforced.set(0);
      await this.repair(pool);
    }
    if (this.mayRepair && (await pool.countRemovals()))
      this.log.info({ pool: this.pool }, 'the pool counts every removal from now on');
  }

  private async repair(pool: BtrfsPool): Promise<void> {
    if (!this.mayRepair) throw new Error('only root may repair the pool, see `berth engine keep-limits`');
    const began = Date.now();
    if (!this.failing) this.log.warn({ pool: this.pool }, 'the pool holds no disk limits; its use is counted anew');
    await pool.countAnew(this.ending.signal);
    if (!(await pool.enforces())) throw new Error('the pool gave its counts up again');
    this.enforced.set(1);
    this.log.info({ pool: this.pool, ms: Date.now() - began }, 'the pool holds its disk limits again');
  }
}
