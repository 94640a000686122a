import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { AppLogger } from '../observability/logger.js';
import { OperationQueue } from './operation-queue.js';
import { OperationRunner } from './operation-runner.js';

/**
 * Operations mostly wait for the engine, so one process may have many under way: more than all those together that have slots,
 * so that a kill never waits for them.
 */
const CONCURRENCY = 128;

/** Takes operation ids off the queue. */
@Injectable()
export class OperationsWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private ending = false;

  constructor(
    private readonly queue: OperationQueue,
    private readonly runner: OperationRunner,
    private readonly log: AppLogger,
  ) {}

  onApplicationBootstrap(): void {
    this.queue
      .take(CONCURRENCY, (id) => this.runner.run(id))
      .catch((error: unknown) => {
        // A process that ends while it still begins takes the connection away from under it.
        if (!this.ending) this.log.error({ err: error }, 'no operations are taken off the queue');
      });
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.ending = true;
    await this.runner.drain();
  }
}
