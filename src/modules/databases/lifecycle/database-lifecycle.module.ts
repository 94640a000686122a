import { Module } from '@nestjs/common';
import { DatabaseRowsModule } from '../database-rows.module.js';
import { DatabaseProvisioning } from './database-provisioning.service.js';
import { HostLinks } from './host-links.js';

/** What the operations of services do with their databases. */
@Module({
  imports: [DatabaseRowsModule],
  providers: [HostLinks, DatabaseProvisioning],
  exports: [HostLinks, DatabaseProvisioning, DatabaseRowsModule],
})
export class DatabaseLifecycleModule {}
