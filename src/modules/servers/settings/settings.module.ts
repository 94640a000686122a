import { Module } from '@nestjs/common';
import { NotificationsModule } from '../../notifications/notifications.module.js';
import { ServerRowsModule } from '../server-rows.module.js';
import { SftpModule } from '../sftp/sftp.module.js';
import { ServerUsageReader } from '../usage/server-usage.reader.js';
import { AlertWatchWorker } from './alert-watch.worker.js';
import { AlertsService } from './alerts.service.js';
import { CrashesService } from './crashes.service.js';
import { SettingsService } from './settings.service.js';
import { SftpHostKey } from './sftp-host-key.js';

/** Settings, alerts and crashes of services as the API serves them. */
@Module({
  imports: [ServerRowsModule, SftpModule],
  providers: [SettingsService, SftpHostKey, AlertsService, CrashesService],
  exports: [SettingsService, AlertsService, CrashesService],
})
export class SettingsModule {}

/** The worker's side: it watches consumption. */
@Module({
  imports: [ServerRowsModule, NotificationsModule],
  providers: [ServerUsageReader, AlertWatchWorker],
})
export class SettingsWorkerModule {}
