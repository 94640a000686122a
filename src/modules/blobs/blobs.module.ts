import { Module } from '@nestjs/common';
import { BlobOwners } from './blob-owners.service.js';
import { BlobSweeperWorker } from './blob-sweeper.worker.js';

/** The worker's care for the object store. Modules whose rows own blobs import it and register. */
@Module({
  providers: [BlobOwners, BlobSweeperWorker],
  exports: [BlobOwners, BlobSweeperWorker],
})
export class BlobsWorkerModule {}
