import { Module } from '@nestjs/common';
import { EngineOwners } from './engine-owners.service.js';
import { InstanceWatchers } from './instance-watchers.service.js';
import { LeftoversWorker } from './leftovers.worker.js';
import { CreationSlots } from './lifecycle/creation-slots.service.js';
import { InstanceMoves } from './lifecycle/instance-moves.service.js';
import { PowerSlots } from './lifecycle/power-slots.service.js';
import { UsageMeter } from './usage-meter.service.js';
import { UsageCache } from './usage.cache.js';

/** What the API tells of instances, and hears of them, whatever they are for. */
@Module({ providers: [UsageCache, UsageMeter, InstanceWatchers], exports: [UsageMeter, InstanceWatchers] })
export class InstancesModule {}

/** What the worker does with instances whatever they are for. Modules that have any import it, and register as owners. */
@Module({
  providers: [InstanceMoves, CreationSlots, PowerSlots, EngineOwners, LeftoversWorker],
  exports: [InstanceMoves, CreationSlots, PowerSlots, EngineOwners],
})
export class InstancesWorkerModule {}
