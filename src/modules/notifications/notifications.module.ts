import { Module } from '@nestjs/common';
import { AccountsModule } from '../accounts/accounts.module.js';
import { NotificationSenderWorker } from './notification-sender.worker.js';
import { NotificationsService } from './notifications.service.js';

@Module({
  imports: [AccountsModule],
  providers: [NotificationsService],
  exports: [NotificationsService],
})
export class NotificationsModule {}

/** The worker's side. Needs a `Notifier`. */
@Module({ imports: [AccountsModule], providers: [NotificationSenderWorker] })
export class NotificationsWorkerModule {}
