import { Module } from '@nestjs/common';
import { AnswerSlotsModule } from '../../platform/http/answer-slots.js';
import { AccountsModule } from '../accounts/accounts.module.js';
import { BlobsWorkerModule } from '../blobs/blobs.module.js';
import { BlobRemoverWorker } from './blob-remover.worker.js';
import { BucketRemoverWorker } from './bucket-remover.worker.js';
import { BucketRepository } from './buckets/bucket.repository.js';
import { BucketsService } from './buckets/buckets.service.js';
import { ObjectUploads } from './lifecycle/object-uploads.js';
import { UploadSlots } from './lifecycle/upload-slots.js';
import { ObjectDownloads } from './objects/object-downloads.reader.js';
import { ObjectSender } from './objects/object-sender.reader.js';
import { ObjectRepository } from './objects/object.repository.js';
import { ObjectsService } from './objects/objects.service.js';
import { UploadLedger } from './objects/upload-ledger.service.js';
import { PublicListener } from './public/public-listener.reader.js';
import { PublicObjects } from './public/public-objects.service.js';

/** Buckets and objects as the API serves them. */
@Module({
  imports: [AccountsModule, AnswerSlotsModule],
  providers: [
    BucketRepository,
    BucketsService,
    ObjectRepository,
    ObjectsService,
    UploadLedger,
    UploadSlots,
    ObjectUploads,
    ObjectSender,
    ObjectDownloads,
  ],
  exports: [BucketsService, ObjectsService, ObjectUploads, ObjectDownloads, ObjectSender],
})
export class StorageModule {}

/** The origin of public objects. */
@Module({
  imports: [StorageModule],
  providers: [PublicObjects, PublicListener],
  exports: [PublicListener],
})
export class PublicStorageModule {}

/** The worker's side: what nobody needs any more is removed. */
@Module({
  imports: [BlobsWorkerModule],
  providers: [ObjectRepository, BlobRemoverWorker, BucketRemoverWorker],
})
export class StorageWorkerModule {}
