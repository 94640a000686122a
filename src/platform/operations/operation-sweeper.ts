import { Injectable } from '@nestjs/common';
import { RecurringWorker } from '../background/recurring-worker.js';
import { AppLogger } from '../observability/logger.js';
import { OperationQueue } from './operation-queue.js';
import { OperationStore } from './operation-store.js';

const INTERVAL_MS = 1000;
const BATCH = 200;

/** Pushes again every operation whose queue job is due or was lost, so that the queue may be wiped at any time. */
@Injectable()
export class OperationSweeper extends RecurringWorker {
  constructor(
    private readonly store: OperationStore,
    private readonly queue: OperationQueue,
    log: AppLogger,
  ) {
    super({ what: 'sweep of operations', everyMs: INTERVAL_MS }, log);
  }

  protected async turn(): Promise<void> {
    for (const id of await this.store.takeDue(BATCH)) this.queue.push(id);
  }
}
