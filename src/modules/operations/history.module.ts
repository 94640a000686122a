import { Module } from '@nestjs/common';
import { HistoryCleanerWorker } from './history-cleaner.worker.js';

/** The worker's side: the end of old records. */
@Module({ providers: [HistoryCleanerWorker] })
export class HistoryWorkerModule {}
