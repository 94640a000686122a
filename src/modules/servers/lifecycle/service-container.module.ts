import { Module } from '@nestjs/common';
import { InstancesWorkerModule } from '../../instances/instances.module.js';
import { ServerRowsModule } from '../server-rows.module.js';
import { InstanceBuilder } from './instance-builder.js';
import { ServiceContainer } from './service-container.js';

/** One service's container and volume, for whatever of the worker's side changes them. */
@Module({
  imports: [ServerRowsModule, InstancesWorkerModule],
  providers: [ServiceContainer, InstanceBuilder],
  exports: [ServiceContainer, InstanceBuilder],
})
export class ServiceContainerModule {}
