import { Module } from '@nestjs/common';
import { ServerGate } from '../server-gate.js';
import { ServerRowsModule } from '../server-rows.module.js';
import { AllocationsService } from './allocations.service.js';
import { NodeFirewall } from './node-firewall.js';
import { ServerPortsWorker } from './server-ports.worker.js';

/** Ports as the API serves them. */
@Module({
  imports: [ServerRowsModule],
  providers: [AllocationsService, NodeFirewall, ServerGate],
  exports: [AllocationsService, NodeFirewall],
})
export class AllocationsModule {}

/** The worker's side: ports that are opened and closed in the engine. */
@Module({ imports: [ServerRowsModule], providers: [ServerPortsWorker] })
export class AllocationsWorkerModule {}
