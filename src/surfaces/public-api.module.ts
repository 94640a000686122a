import { Module } from '@nestjs/common';
import { ACCOUNT_PUBLIC_CONTROLLERS } from '../modules/accounts/account-controllers.js';
import { DatabasesPublicController } from '../modules/databases/databases.public.controller.js';
import { DatabasesModule } from '../modules/databases/databases.module.js';
import { DbConnectionPublicController } from '../modules/databases/db-connection/db-connection.public.controller.js';
import { LxcPublicController } from '../modules/lxc/lxc.public.controller.js';
import { LxcModule } from '../modules/lxc/lxc.module.js';
import { SnapshotsPublicController } from '../modules/lxc/snapshots/snapshots.public.controller.js';
import { NocodePublicController } from '../modules/nocode/nocode.public.controller.js';
import { NocodeModule } from '../modules/nocode/nocode.module.js';
import { NotificationsPublicController } from '../modules/notifications/notifications.public.controller.js';
import { NotificationsModule } from '../modules/notifications/notifications.module.js';
import { OperationsPublicController } from '../modules/operations/operations.public.controller.js';
import { PagesPublicController } from '../modules/pages/pages.public.controller.js';
import { PagesModule } from '../modules/pages/pages.module.js';
import { AllocationsPublicController } from '../modules/servers/allocations/allocations.public.controller.js';
import { BackupsPublicController } from '../modules/servers/backups/backups.public.controller.js';
import { ConsolePublicController } from '../modules/servers/console/console.public.controller.js';
import { ExecPublicController } from '../modules/servers/exec/exec.public.controller.js';
import { SchedulesPublicController } from '../modules/servers/schedules/schedules.public.controller.js';
import { SettingsPublicController } from '../modules/servers/settings/settings.public.controller.js';
import { ServersModule } from '../modules/servers/servers.module.js';
import { SftpPublicController } from '../modules/servers/sftp/sftp.public.controller.js';
import { ServersPublicController } from '../modules/servers/servers.public.controller.js';
import { SeoPublicController } from '../modules/seo/seo.public.controller.js';
import { SeoModule } from '../modules/seo/seo.module.js';
import { StoragePublicController } from '../modules/storage/storage.public.controller.js';
import { StorageModule } from '../modules/storage/storage.module.js';
import { AccountVaultPublicController } from '../modules/vault/account-vault.public.controller.js';
import { ServerVaultPublicController } from '../modules/vault/server-vault.public.controller.js';
import { VaultModule } from '../modules/vault/vault.module.js';

/** What stands under `/api/v1`. */
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
    ...ACCOUNT_PUBLIC_CONTROLLERS,
    ServersPublicController,
    AllocationsPublicController,
    SftpPublicController,
    DbConnectionPublicController,
    DatabasesPublicController,
    BackupsPublicController,
    ConsolePublicController,
    ExecPublicController,
    SchedulesPublicController,
    SettingsPublicController,
    ServerVaultPublicController,
    AccountVaultPublicController,
    StoragePublicController,
    LxcPublicController,
    SnapshotsPublicController,
    NocodePublicController,
    SeoPublicController,
    PagesPublicController,
    OperationsPublicController,
    NotificationsPublicController,
  ],
})
export class PublicApiModule {}
