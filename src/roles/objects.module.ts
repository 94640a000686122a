import { Global, Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Config } from '../config/config.js';
import { blobStoreOptions, createBlobStore } from '../drivers/objects/blob-store.factory.js';
import { BlobStore } from '../drivers/objects/blob-store.js';
import { Health } from '../platform/observability/health.js';
import { ThreadedReads } from './threaded-reads.js';

@Global()
@Module({
  providers: [
    ThreadedReads,
    {
      provide: BlobStore,
      inject: [Config, ThreadedReads],
      useFactory: (config: Config, reads: ThreadedReads) =>
        createBlobStore(blobStoreOptions(config), (part) => reads.read(part)),
    },
  ],
  exports: [BlobStore],
})
export class ObjectsModule implements OnModuleInit, OnApplicationShutdown {
  constructor(
    private readonly blobs: BlobStore,
    private readonly reads: ThreadedReads,
    private readonly health: Health,
  ) {}

  onModuleInit(): void {
    this.health.register({ name: 'objectStore', critical: false, check: () => this.blobs.check() });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.reads.close();
  }
}
