import { BullModule } from '@nestjs/bull';
import { type DynamicModule, type INestApplicationContext, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ConfigModule } from '../../src/config/config.module.js';
import { loadConfig } from '../../src/config/config.js';
import { DatabaseModule } from '../../src/platform/database/database.module.js';
import { createLogger, NestLogger } from '../../src/platform/observability/logger.js';
import { ObservabilityModule } from '../../src/platform/observability/observability.module.js';
import { Operation } from '../../src/platform/operations/operation.entity.js';
import {
  HandlesOperation,
  OperationHandler,
  type OperationFailure,
  type OperationStep,
} from '../../src/platform/operations/operation-handler.js';
import { OperationsModule, OperationsWorkerModule } from '../../src/platform/operations/operations.module.js';
import type { OperationSlots } from '../../src/platform/operations/operation-slots.js';
import { Redis } from '../../src/platform/redis/redis.js';
import { RedisModule } from '../../src/platform/redis/redis.module.js';
import { stack } from '../support/stack.js';

/** What the handler of these tests does; each test sets it. Shared by all workers, as the outside world is. */
export const script = {
  steps: [] as OperationStep[],
  ends: [] as string[],
  failure: null as OperationFailure | null,
  slots: null as OperationSlots | null,
};

@HandlesOperation('test.scripted')
class ScriptedHandler extends OperationHandler {
  steps(): OperationStep[] {
    return script.steps;
  }

  async onDone(_tx: unknown, { id }: Operation): Promise<void> {
    script.ends.push(`done ${id}`);
  }

  async onFailed(_tx: unknown, { id }: Operation, failure: OperationFailure): Promise<void> {
    script.ends.push(`failed ${id}`);
    script.failure = failure;
  }

  override async onCancelled(_tx: unknown, { id }: Operation): Promise<void> {
    script.ends.push(`cancelled ${id}`);
  }
}

@HandlesOperation('test.slotted')
class SlottedHandler extends ScriptedHandler {
  override slots(): OperationSlots | null {
    return script.slots;
  }
}

let started = 0;

@Module({})
class OperationsTestModule {
  static of(settings: Record<string, string>, worker: boolean): DynamicModule {
    const config = loadConfig({ ...stack.env(), ...settings }, '/dev/null');
    return {
      module: OperationsTestModule,
      imports: [
        ConfigModule.forRoot(config),
        ObservabilityModule.forRoot(createLogger({ logLevel: 'fatal' })),
        DatabaseModule.forRoot(`test-${++started}`, [Operation]),
        RedisModule,
        BullModule.forRootAsync({
          inject: [Redis],
          useFactory: (redis: Redis) => ({ prefix: 'berth', createClient: () => redis.createForQueue() }),
        }),
        OperationsModule,
        ...(worker ? [OperationsWorkerModule as Type] : []),
      ],
      providers: worker ? [ScriptedHandler, SlottedHandler] : [],
    };
  }
}

/** One process' worth of the operation mechanism: what accepts operations, or what runs them too. */
export function startOperations(settings: Record<string, string>, worker: boolean): Promise<INestApplicationContext> {
  const logger = new NestLogger(createLogger({ logLevel: 'fatal' }));
  return NestFactory.createApplicationContext(OperationsTestModule.of(settings, worker), {
    logger,
    abortOnError: false,
  });
}
