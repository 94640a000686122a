import { Module } from '@nestjs/common';
import { BackupsModule } from '../backups/backups.module.js';
import { ServerRowsModule } from '../server-rows.module.js';
import { ConsoleModule } from '../console/console.module.js';
import { ScheduleClockWorker } from './schedule-clock.worker.js';
import { ScheduleRunsService } from './schedule-runs.service.js';
import { ScheduleRunWorker } from './schedule-run.worker.js';
import { ScheduleSlots } from './schedule-slots.js';
import { ScheduleTaskWorker } from './schedule-task.worker.js';
import { ScheduleRepository } from './schedule.repository.js';
import { SchedulesService } from './schedules.service.js';

/** Schedules as the API serves them. */
@Module({
  imports: [ServerRowsModule],
  providers: [SchedulesService, ScheduleRunsService, ScheduleRepository],
  exports: [SchedulesService],
})
export class SchedulesModule {}

/** The worker's side: what starts runs, and what does their tasks. */
@Module({
  imports: [ServerRowsModule, BackupsModule, ConsoleModule],
  providers: [
    ScheduleRepository,
    ScheduleRunsService,
    ScheduleClockWorker,
    ScheduleSlots,
    ScheduleRunWorker,
    ScheduleTaskWorker,
  ],
})
export class SchedulesWorkerModule {}
