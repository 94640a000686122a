import { Process, Processor } from '@nestjs/bull';
import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import type { Job } from 'bull';
import { OPERATION_QUEUE, type OperationJob } from './operation-queue.js';
import { OperationRunner } from './operation-runner.js';

/** Operations mostly wait for the engine, so one process may have many under way. */
const CONCURRENCY = 64;

/** Takes operation ids off the queue. */
@Injectable()
@Processor(OPERATION_QUEUE)
export class OperationsWorker implements BeforeApplicationShutdown {
  constructor(private readonly runner: OperationRunner) {}

  @Process({ concurrency: CONCURRENCY })
  async process(job: Job<OperationJob>): Promise<void> {
    await this.runner.run(job.data.operationId);
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.runner.drain();
  }
}
