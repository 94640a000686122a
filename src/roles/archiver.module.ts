import { Global, Module } from '@nestjs/common';
import { Config } from '../config/config.js';
import { DirectPath } from '../drivers/engine/direct-path.js';
import { Engine } from '../drivers/engine/engine.js';
import { blobStoreOptions } from '../drivers/objects/blob-store.factory.js';
import { BlobStore } from '../drivers/objects/blob-store.js';
import { Archiver } from '../modules/servers/backups/lifecycle/archiver.js';
import { StreamingArchiver } from '../modules/servers/backups/lifecycle/streaming-archiver.js';
import { engineOptions } from './engine.module.js';
import { ThreadedArchiver } from './threaded-archiver.js';

/** Archives go through threads of their own, except those of simulated containers, which are in this one alone. */
@Global()
@Module({
  providers: [
    {
      provide: Archiver,
      inject: [Config, Engine, BlobStore],
      useFactory: (config: Config, simulated: Engine, blobs: BlobStore): Archiver => {
        const engine = engineOptions(config);
        if (engine.url.startsWith('simulator:')) return new StreamingArchiver(simulated, blobs);
        const objects = blobStoreOptions(config);
        return new ThreadedArchiver({ engine, objects, socketDir: config.workshopSocketDir });
      },
    },
    {
      provide: DirectPath,
      inject: [Config],
      useFactory: (config: Config) => DirectPath.for(config.require('engineUrl'), config.workshopSocketDir),
    },
  ],
  exports: [Archiver, DirectPath],
})
export class ArchiverModule {}
