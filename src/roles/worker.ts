import { Module, type DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Config } from '../config/config.js';
import { DatabasesWorkerModule } from '../modules/databases/databases.module.js';
import { HistoryWorkerModule } from '../modules/operations/history.module.js';
import { LxcWorkerModule } from '../modules/lxc/lxc.module.js';
import { NotificationsWorkerModule } from '../modules/notifications/notifications.module.js';
import { ServersWorkerModule } from '../modules/servers/servers.module.js';
import { PagesWorkerModule } from '../modules/pages/pages.module.js';
import { StorageWorkerModule } from '../modules/storage/storage.module.js';
import { VaultWorkerModule } from '../modules/vault/vault.module.js';
import { NestLogger, type AppLogger } from '../platform/observability/logger.js';
import { OperationsWorkerModule } from '../platform/operations/operations.module.js';
import { ArchiverModule } from './archiver.module.js';
import { ControlPlaneModule } from './control-plane.module.js';
import { EdgeModule } from './edge.module.js';
import { NotifierModule } from './notifier.module.js';
import type { RunningRole } from './role.js';

@Module({})
class WorkerModule {
  static forRoot(config: Config, log: AppLogger): DynamicModule {
    return {
      module: WorkerModule,
      imports: [
        ControlPlaneModule.forRoot('worker', config, log),
        NotifierModule,
        EdgeModule,
        ArchiverModule,
        OperationsWorkerModule,
        HistoryWorkerModule,
        ServersWorkerModule,
        DatabasesWorkerModule,
        NotificationsWorkerModule,
        VaultWorkerModule,
        StorageWorkerModule,
        LxcWorkerModule,
        PagesWorkerModule,
      ],
    };
  }
}

/** Carries out operations: every change to the engine is made here. */
export async function startWorker(config: Config, log: AppLogger): Promise<RunningRole> {
  const app = await NestFactory.createApplicationContext(WorkerModule.forRoot(config, log), {
    logger: new NestLogger(log),
    abortOnError: false,
  });
  log.info('worker takes operations');
  return app;
}
