import { Module } from '@nestjs/common';
import { ServiceContainerModule } from '../lifecycle/service-container.module.js';
import { ServerRowsModule } from '../server-rows.module.js';
import { ExecService } from './exec.service.js';
import { ExecSlots } from './exec-slots.js';
import { ExecWorker } from './exec.worker.js';

/** Commands run in services, as the API serves them. */
@Module({ imports: [ServerRowsModule], providers: [ExecService], exports: [ExecService] })
export class ExecModule {}

/** The worker's side: what runs them. */
@Module({ imports: [ServerRowsModule, ServiceContainerModule], providers: [ExecSlots, ExecWorker] })
export class ExecWorkerModule {}
