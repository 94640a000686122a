import { Module } from '@nestjs/common';
import { AnswerSlotsModule } from '../../../platform/http/answer-slots.js';
import { BlobsWorkerModule } from '../../blobs/blobs.module.js';
import { ServiceContainerModule } from '../lifecycle/service-container.module.js';
import { TaskBackups } from '../schedules/task-ports.js';
import { ServerGate } from '../server-gate.js';
import { InstancesWorkerModule } from '../../instances/instances.module.js';
import { ServerRowsModule } from '../server-rows.module.js';
import { BackupDownloads } from './backup-downloads.reader.js';
import { BackupRemoverWorker } from './backup-remover.worker.js';
import { BackupRepository } from './backup.repository.js';
import { BackupWorker } from './backup.worker.js';
import { BackupsService } from './backups.service.js';
import { RestoreWorker } from './restore.worker.js';
import { BackupSlots } from './lifecycle/backup-slots.js';
import { VolumeSwap } from './lifecycle/volume-swap.js';
import { Workshop } from './lifecycle/workshop.js';

/** Backups as the API serves them and schedules start them. */
@Module({
  imports: [ServerRowsModule, AnswerSlotsModule],
  providers: [
    ServerGate,
    BackupRepository,
    BackupsService,
    BackupDownloads,
    { provide: TaskBackups, useExisting: BackupsService },
  ],
  exports: [BackupsService, BackupRepository, BackupDownloads, TaskBackups],
})
export class BackupsModule {}

/** The worker's side: what makes, restores and removes them. */
@Module({
  imports: [BackupsModule, ServerRowsModule, InstancesWorkerModule, ServiceContainerModule, BlobsWorkerModule],
  providers: [BackupSlots, Workshop, VolumeSwap, BackupWorker, RestoreWorker, BackupRemoverWorker],
  exports: [BackupRemoverWorker],
})
export class BackupsWorkerModule {}
