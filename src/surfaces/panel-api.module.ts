import { Module } from '@nestjs/common';
import { ACCOUNT_PANEL_CONTROLLERS } from '../modules/accounts/account-controllers.js';
import { DatabasesPanelController } from '../modules/databases/databases.panel.controller.js';
import { DatabasesModule } from '../modules/databases/databases.module.js';
import { DbConnectionPanelController } from '../modules/databases/db-connection/db-connection.panel.controller.js';
import { LxcPanelController } from '../modules/lxc/lxc.panel.controller.js';
import { LxcModule } from '../modules/lxc/lxc.module.js';
import { SnapshotsPanelController } from '../modules/lxc/snapshots/snapshots.panel.controller.js';
import { NocodePanelController } from '../modules/nocode/nocode.panel.controller.js';
import { NocodeModule } from '../modules/nocode/nocode.module.js';
import { NotificationsPanelController } from '../modules/notifications/notifications.panel.controller.js';
import { NotificationsModule } from '../modules/notifications/notifications.module.js';
import { OperationsPanelController } from '../modules/operations/operations.panel.controller.js';
import { PagesPanelController } from '../modules/pages/pages.panel.controller.js';
import { PagesModule } from '../modules/pages/pages.module.js';
import { AllocationsPanelController } from '../modules/servers/allocations/allocations.panel.controller.js';
import { BackupsPanelController } from '../modules/servers/backups/backups.panel.controller.js';
import { ConsolePanelController } from '../modules/servers/console/console.panel.controller.js';
import { ExecPanelController } from '../modules/servers/exec/exec.panel.controller.js';
import { SchedulesPanelController } from '../modules/servers/schedules/schedules.panel.controller.js';
import { SettingsPanelController } from '../modules/servers/settings/settings.panel.controller.js';
import { ServersModule } from '../modules/servers/servers.module.js';
import { SftpPanelController } from '../modules/servers/sftp/sftp.panel.controller.js';
import { ServersPanelController } from '../modules/servers/servers.panel.controller.js';
import { SeoPanelController } from '../modules/seo/seo.panel.controller.js';
import { SeoModule } from '../modules/seo/seo.module.js';
import { StoragePanelController } from '../modules/storage/storage.panel.controller.js';
import { StorageModule } from '../modules/storage/storage.module.js';
import { AccountVaultPanelController } from '../modules/vault/account-vault.panel.controller.js';
import { ServerVaultPanelController } from '../modules/vault/server-vault.panel.controller.js';
import { VaultModule } from '../modules/vault/vault.module.js';

/** What stands under `/panel`. */
@Module({
  imports: [
    ServersModule,
    DatabasesModule,
    NotificationsModule,
    VaultModule,
    StorageModule,
    LxcModule,
    NocodeModule,
    SeoModule,
    PagesModule,
  ],
  controllers: [
    ...ACCOUNT_PANEL_CONTROLLERS,
    ServersPanelController,
    AllocationsPanelController,
    SftpPanelController,
    DbConnectionPanelController,
    DatabasesPanelController,
    BackupsPanelController,
    ConsolePanelController,
    ExecPanelController,
    SchedulesPanelController,
    SettingsPanelController,
    ServerVaultPanelController,
    AccountVaultPanelController,
    StoragePanelController,
    LxcPanelController,
    SnapshotsPanelController,
    NocodePanelController,
    SeoPanelController,
    PagesPanelController,
    OperationsPanelController,
    NotificationsPanelController,
  ],
})
export class PanelApiModule {}
