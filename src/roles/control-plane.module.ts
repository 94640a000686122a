import { BullModule } from '@nestjs/bull';
import { Module, type DynamicModule } from '@nestjs/common';
import { Config } from '../config/config.js';
import { ConfigModule } from '../config/config.module.js';
import { ENTITIES } from '../modules/entities.js';
import { DatabaseModule } from '../platform/database/database.module.js';
import { EventsModule } from '../platform/events/events.module.js';
import type { AppLogger } from '../platform/observability/logger.js';
import { ObservabilityModule } from '../platform/observability/observability.module.js';
import { OperationsModule } from '../platform/operations/operations.module.js';
import { Redis } from '../platform/redis/redis.js';
import { RedisModule } from '../platform/redis/redis.module.js';
import { DatabaseHostsModule } from './database-hosts.module.js';
import { EngineModule } from './engine.module.js';
import { ObjectsModule } from './objects.module.js';

/** What the api and the worker have in common: the database, Redis, the queue, the engine and the object store. */
@Module({})
export class ControlPlaneModule {
  static forRoot(role: 'api' | 'worker', config: Config, log: AppLogger): DynamicModule {
    return {
      module: ControlPlaneModule,
      imports: [
        ConfigModule.forRoot(config),
        ObservabilityModule.forRoot(log),
        DatabaseModule.forRoot(role, ENTITIES),
        RedisModule,
        BullModule.forRootAsync({
          inject: [Redis],
          useFactory: (redis: Redis) => ({
            prefix: 'berth',
            createClient: () => redis.createForQueue(),
            settings: { lockDuration: 60_000, stalledInterval: 60_000, maxStalledCount: 1 },
          }),
        }),
        EngineModule,
        DatabaseHostsModule,
        ObjectsModule,
        EventsModule,
        OperationsModule,
      ],
    };
  }
}
