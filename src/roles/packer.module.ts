import { Global, Module } from '@nestjs/common';
import { Config } from '../config/config.js';
import { blobStoreOptions } from '../drivers/objects/blob-store.factory.js';
import { BlobStore } from '../drivers/objects/blob-store.js';
import { Packer } from '../modules/pages/lifecycle/packer.js';
import { ThreadedPacker } from './threaded-packer.js';

/** Archives of sites are unpacked in threads. */
@Global()
@Module({
  providers: [
    {
      provide: Packer,
      inject: [Config, BlobStore],
      useFactory: (config: Config, blobs: BlobStore) => new ThreadedPacker(blobStoreOptions(config), blobs),
    },
  ],
  exports: [Packer],
})
export class PackerModule {}
