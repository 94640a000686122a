import { BullModule } from '@nestjs/bull';
import { type DynamicModule, type INestApplicationContext, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ConfigModule } from '../../src/config/config.module.js';
import { loadConfig } from '../../src/config/config.js';
import { Database } from '../../src/platform/database/database.js';
import { DatabaseModule } from '../../src/platform/database/database.module.js';
import { newId } from '../../src/platform/ids/id.js';
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
import { type NewOperation, OperationsService } from '../../src/platform/operations/operations.service.js';
import type { OperationSlots } from '../../src/platform/operations/operation-slots.js';
import { Redis } from '../../src/platform/redis/redis.js';
import { RedisModule } from '../../src/platform/redis/redis.module.js';
import { TestDatabase } from '../support/database.js';
import { RedisServer } from '../support/redis-server.js';
import { stack } from '../support/stack.js';
import { until } from '../support/until.js';

/** What the handler of these tests does; each test sets it. Shared by all workers, as the outside world is. */
export const script = {
  steps: [] as OperationStep[],
  ends: [] as string[],
  failure: null as OperationFailure | null,
  slots: null as OperationSlots | null,
  /** Steps that wait for no slot. */
  urgent: [] as string[],
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
  override slots(step: string | null): OperationSlots | null {
    return script.urgent.includes(step ?? '') ? null : script.slots;
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
function startOperations(settings: Record<string, string>, worker: boolean): Promise<INestApplicationContext> {
  const logger = new NestLogger(createLogger({ logLevel: 'fatal' }));
  return NestFactory.createApplicationContext(OperationsTestModule.of(settings, worker), {
    logger,
    abortOnError: false,
  });
}

export const ACCOUNT = newId('usr');

/** The mechanism with a database and a Redis of its own for one file of tests, and no worker left over between two of them. */
export class OperationsBed {
  workers: INestApplicationContext[] = [];

  private constructor(
    readonly database: TestDatabase,
    readonly redis: RedisServer,
    private readonly settings: Record<string, string>,
    /** What accepts operations and runs none. */
    readonly accepting: INestApplicationContext,
  ) {}

  static async start(): Promise<OperationsBed> {
    const [database, redis] = await Promise.all([TestDatabase.create([Operation]), RedisServer.start()]);
    const settings = { DATABASE_URL: database.url, REDIS_URL: redis.url, OPERATION_LEASE_SECONDS: '2' };
    return new OperationsBed(database, redis, settings, await startOperations(settings, false));
  }

  async startWorker(): Promise<INestApplicationContext> {
    const worker = await startOperations(this.settings, true);
    this.workers.push(worker);
    return worker;
  }

  accept(wanted: Partial<NewOperation> & Pick<NewOperation, 'type'>): Promise<Operation> {
    const operation = { accountId: ACCOUNT, resourceId: newId('srv'), ...wanted };
    return this.accepting.get(Database).transaction((tx) => this.accepting.get(OperationsService).start(tx, operation));
  }

  row(id: string): Promise<Operation> {
    return this.database.source.manager.findOneByOrFail(Operation, { id });
  }

  ended(id: string, timeoutMs?: number): Promise<Operation> {
    return until(
      'end of the operation',
      async () => {
        const operation = await this.row(id);
        return operation.finishedAt === null ? null : operation;
      },
      timeoutMs,
    );
  }

  /** Between two tests. */
  async clear(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.close()));
    this.workers = [];
    await this.database.query("DELETE FROM operations WHERE status IN ('QUEUED', 'RUNNING')");
    Object.assign(script, { steps: [], ends: [], failure: null, slots: null, urgent: [] });
  }

  async close(): Promise<void> {
    await this.accepting.close();
    await this.redis.close();
    await this.database.drop();
  }
}
