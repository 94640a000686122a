import { Global, Module, type OnModuleInit } from '@nestjs/common';
import { Config } from '../config/config.js';
import { blobStoreOptions, createBlobStore } from '../drivers/objects/blob-store.factory.js';
import { BlobStore } from '../drivers/objects/blob-store.js';
import { Health } from '../platform/observability/health.js';

@Global()
@Module({
  providers: [
    {
      provide: BlobStore,
      inject: [Config],
      useFactory: (config: Config) => createBlobStore(blobStoreOptions(config)),
    },
  ],
  exports: [BlobStore],
})
export class ObjectsModule implements OnModuleInit {
  constructor(
    private readonly blobs: BlobStore,
    private readonly health: Health,
  ) {}

  onModuleInit(): void {
    this.health.register({ name: 'objectStore', critical: false, check: () => this.blobs.check() });
  }
}
