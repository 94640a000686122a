import { Module } from '@nestjs/common';
import { ActivityService } from './activity/activity.service.js';
import { AllocationsModule, AllocationsWorkerModule } from './allocations/allocations.module.js';
import { BackupsModule, BackupsWorkerModule } from './backups/backups.module.js';
import { ConsoleModule } from './console/console.module.js';
import { ExecModule, ExecWorkerModule } from './exec/exec.module.js';
import { InstallationService } from './install/installation.service.js';
import { Installer } from './lifecycle/installer.js';
import { ServerCreateWorker } from './lifecycle/server-create.worker.js';
import { ServerDeleteWorker } from './lifecycle/server-delete.worker.js';
import { ServerKillWorker } from './lifecycle/server-kill.worker.js';
import { ServerPowerWorker } from './lifecycle/server-power.worker.js';
import { ServerOwnerWorker } from './lifecycle/server-owner.worker.js';
import { ServerReinstallWorker } from './lifecycle/server-reinstall.worker.js';
import { ServerResizeWorker } from './lifecycle/server-resize.worker.js';
import { ServiceContainerModule } from './lifecycle/service-container.module.js';
import { ServerObserver } from './observer/server-observer.service.js';
import { ResizeService } from './resize/resize.service.js';
import { SchedulesModule, SchedulesWorkerModule } from './schedules/schedules.module.js';
import { ServerGate } from './server-gate.js';
import { ServerQuota } from './server-quota.js';
import { ServerRowsModule } from './server-rows.module.js';
import { SettingsModule, SettingsWorkerModule } from './settings/settings.module.js';
import { ServersService } from './servers.service.js';
import { ServerUsageReader } from './usage/server-usage.reader.js';
import { SftpModule } from './sftp/sftp.module.js';
import { UsageService } from './usage/usage.service.js';
import { InstancesModule, InstancesWorkerModule } from '../instances/instances.module.js';
import { DatabaseRowsModule } from '../databases/database-rows.module.js';
import { DatabaseLifecycleModule } from '../databases/lifecycle/database-lifecycle.module.js';
import { VaultErasureModule } from '../vault/vault-erasure.module.js';

/** Application services as the API serves them. */
@Module({
  imports: [
    ServerRowsModule,
    InstancesModule,
    VaultErasureModule,
    DatabaseRowsModule,
    AllocationsModule,
    SftpModule,
    SchedulesModule,
    BackupsModule,
    SettingsModule,
    ConsoleModule,
    ExecModule,
  ],
  providers: [
    ServersService,
    ServerQuota,
    ServerGate,
    ResizeService,
    ActivityService,
    UsageService,
    ServerUsageReader,
    InstallationService,
    ServerObserver,
  ],
  exports: [
    ServerRowsModule,
    AllocationsModule,
    SftpModule,
    SchedulesModule,
    BackupsModule,
    SettingsModule,
    ConsoleModule,
    ExecModule,
    ServersService,
    ResizeService,
    ActivityService,
    UsageService,
    InstallationService,
    ServerObserver,
  ],
})
export class ServersModule {}

/** The worker's side: the operations on containers, and the search for leftovers. */
@Module({
  imports: [
    ServerRowsModule,
    InstancesWorkerModule,
    ServiceContainerModule,
    DatabaseLifecycleModule,
    AllocationsWorkerModule,
    SchedulesWorkerModule,
    BackupsWorkerModule,
    SettingsWorkerModule,
    ExecWorkerModule,
  ],
  providers: [
    Installer,
    ServerCreateWorker,
    ServerReinstallWorker,
    ServerPowerWorker,
    ServerKillWorker,
    ServerResizeWorker,
    ServerDeleteWorker,
    ServerOwnerWorker,
  ],
})
export class ServersWorkerModule {}
