import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import type { AppLogger } from '../observability/logger.js';

export interface Rhythm {
  /** What it does, for the log. */
  what: string;
  /** Between the end of one turn and the begin of the next. */
  everyMs: number;
  /** Before the first one; as long as between two unless told otherwise. */
  firstMs?: number;
}

/** Takes turns for as long as the process runs, one after the other; what goes wrong in one is logged and the next follows. */
export abstract class RecurringWorker implements OnApplicationBootstrap, OnModuleDestroy {
  /** The process is about to end: a long turn breaks off. */
  protected stopped = false;
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> = Promise.resolve();

  protected constructor(
    private readonly rhythm: Rhythm,
    protected readonly log: AppLogger,
  ) {}

  protected abstract turn(): Promise<unknown>;

  onApplicationBootstrap(): void {
    this.schedule(this.rhythm.firstMs ?? this.rhythm.everyMs);
  }

  async onModuleDestroy(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.running;
  }

  private schedule(afterMs: number): void {
    if (this.stopped) return;
    this.timer = setTimeout(() => {
      this.running = this.turnQuietly().finally(() => this.schedule(this.rhythm.everyMs));
    }, afterMs);
  }

  private async turnQuietly(): Promise<void> {
    try {
      await this.turn();
    } catch (error) {
      this.log.warn({ err: error }, `${this.rhythm.what} failed; the next one follows`);
    }
  }
}
