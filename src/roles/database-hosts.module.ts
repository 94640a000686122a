import { Global, Module } from '@nestjs/common';
import { createDatabaseHosts } from '../drivers/database-host/database-host.factory.js';
import { DatabaseHosts } from '../drivers/database-host/database-host.js';

/** The way to the servers that tenants' databases live on. */
@Global()
@Module({
  providers: [{ provide: DatabaseHosts, useFactory: createDatabaseHosts }],
  exports: [DatabaseHosts],
})
export class DatabaseHostsModule {}
