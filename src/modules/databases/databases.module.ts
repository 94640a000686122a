import { Module } from '@nestjs/common';
import { DatabaseEvents } from './database-events.service.js';
import { DatabaseKeeperWorker } from './database-keeper.worker.js';
import { DatabaseReconcilerWorker } from './database-reconciler.worker.js';
import { DatabaseRotateWorker } from './database-rotate.worker.js';
import { DatabasesService } from './databases.service.js';
import { DbConnectionService } from './db-connection/db-connection.service.js';
import { ExportReader } from './export.reader.js';
import { DatabaseLifecycleModule } from './lifecycle/database-lifecycle.module.js';
import { HostRegistration } from './lifecycle/host-registration.js';
import { QueryReader } from './query.reader.js';
import { QuerySlots } from './query-slots.js';
import { SessionReaperWorker } from './session-reaper.worker.js';
import { StatementsReader } from './statements.reader.js';

/** Databases as the API serves them. */
@Module({
  imports: [DatabaseLifecycleModule],
  providers: [
    DatabasesService,
    DbConnectionService,
    DatabaseEvents,
    QuerySlots,
    StatementsReader,
    QueryReader,
    ExportReader,
  ],
  exports: [DatabasesService, DbConnectionService, QueryReader, ExportReader],
})
export class DatabasesModule {}

/** The worker's side: passwords, and what has to be looked after on the hosts. */
@Module({
  imports: [DatabaseLifecycleModule],
  providers: [
    HostRegistration,
    DatabaseRotateWorker,
    DatabaseKeeperWorker,
    DatabaseReconcilerWorker,
    SessionReaperWorker,
  ],
})
export class DatabasesWorkerModule {}
