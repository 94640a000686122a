import { Global, Module } from '@nestjs/common';
import { Config } from '../config/config.js';
import { blobStoreOptions } from '../drivers/objects/blob-store.factory.js';
import { Packer } from '../modules/pages/lifecycle/packer.js';
import { ThreadedPacker } from './threaded-packer.js';

/** Archives of sites are unpacked in threads. */
@Global()
@Module({
  providers: [
    {
      provide: Packer,
      inject: [Config],
      useFactory: (config: Config) => new ThreadedPacker(blobStoreOptions(config)),
    },
  ],
  exports: [Packer],
})
export class PackerModule {}
