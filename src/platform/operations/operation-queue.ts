import { InjectQueue } from '@nestjs/bull';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { Queue } from 'bull';
import { AppLogger } from '../observability/logger.js';

export const OPERATION_QUEUE = 'operations';

export interface OperationJob {
  operationId: string;
}

/**
 * The Bull queue that tells workers which operation to look at. It is a hint only: the rows hold the truth, and the sweeper
 * pushes again whatever was lost, so a failing push is logged and no error of the caller's.
 */
@Injectable()
export class OperationQueue implements OnModuleInit {
  constructor(
    @InjectQueue(OPERATION_QUEUE) private readonly queue: Queue<OperationJob>,
    private readonly log: AppLogger,
  ) {}

  onModuleInit(): void {
    this.queue.on('error', (error) => this.log.warn({ err: error }, 'operation queue'));
  }

  /** Hands out what is in it, to so many at once; resolves when the queue is closed. */
  async take(concurrency: number, work: (operationId: string) => Promise<void>): Promise<void> {
    // Bull names its connection beside all else and hears of no failure: one that is taken from it meanwhile would end the process.
    const setName = this.queue.setWorkerName.bind(this.queue);
    this.queue.setWorkerName = () => setName().catch((error: unknown) => this.log.debug({ err: error }, 'no name'));
    await this.queue.process(concurrency, ({ data }) => work(data.operationId));
  }

  push(operationId: string): void {
    this.queue
      .add({ operationId }, { removeOnComplete: true, removeOnFail: true, attempts: 1 })
      .catch((error: unknown) => this.log.warn({ err: error, operationId }, 'operation not queued; the sweeper will'));
  }
}
