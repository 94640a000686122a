import { BullModule } from '@nestjs/bull';
import { Global, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { OPERATION_QUEUE, OperationQueue } from './operation-queue.js';
import { OperationRegistry } from './operation-registry.js';
import { OperationRunner } from './operation-runner.js';
import { OperationStore } from './operation-store.js';
import { OperationSweeper } from './operation-sweeper.js';
import { OperationsService } from './operations.service.js';
import { OperationsWorker } from './operations.worker.js';

/** Accepting and asking about operations; every role that has the database imports this. */
@Global()
@Module({
  imports: [BullModule.registerQueue({ name: OPERATION_QUEUE })],
  providers: [OperationsService, OperationQueue],
  exports: [OperationsService, OperationQueue],
})
export class OperationsModule {}

/** Running them; the worker role only. */
@Module({
  imports: [DiscoveryModule],
  providers: [OperationStore, OperationRegistry, OperationRunner, OperationSweeper, OperationsWorker],
})
export class OperationsWorkerModule {}
