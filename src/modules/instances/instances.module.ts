import { Module } from '@nestjs/common';
import { EngineOwners } from './engine-owners.service.js';
import { InstanceMoves } from './lifecycle/instance-moves.service.js';
import { LeftoversWorker } from './leftovers.worker.js';

/** What the worker does with instances whatever they are for. Modules that have any import it, and register as owners. */
@Module({ providers: [InstanceMoves, EngineOwners, LeftoversWorker], exports: [InstanceMoves, EngineOwners] })
export class InstancesWorkerModule {}
