import { Global, Module } from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, APP_PIPE } from '@nestjs/core';
import { ThrottlerModule } from '@nestjs/throttler';
import { Idempotency } from './idempotency.js';
import { IdempotencyStore } from './idempotency.store.js';
import { ProblemFilter } from './problem.filter.js';
import { SlidingLogStorage } from './rate-limit.storage.js';
import { RateLimitStorageModule } from './rate-limit.module.js';
import { RequestInterceptor } from './request.interceptor.js';
import { Shutdown } from './shutdown.js';
import { RequestPipe } from './validation.js';
import { WaitSlots } from './wait-slots.js';

/**
 * What every route of the api role stands on: problems, bodies, validation, idempotency, limits. Needs the config, database,
 * Redis and observability modules beside it; `configureHttp` mounts the part that comes before routing.
 */
@Global()
@Module({
  imports: [
    RateLimitStorageModule,
    ThrottlerModule.forRootAsync({
      imports: [RateLimitStorageModule],
      inject: [SlidingLogStorage],
      // No default limit here: the general one is counted before routing, once. Routes add their own with @RouteLimit.
      useFactory: (storage: SlidingLogStorage) => ({
        storage,
        throttlers: [{ name: 'default', limit: Number.MAX_SAFE_INTEGER, ttl: 60_000, blockDuration: 0 }],
      }),
    }),
  ],
  providers: [
    Idempotency,
    IdempotencyStore,
    Shutdown,
    WaitSlots,
    { provide: APP_FILTER, useClass: ProblemFilter },
    { provide: APP_INTERCEPTOR, useClass: RequestInterceptor },
    { provide: APP_PIPE, useClass: RequestPipe },
  ],
  exports: [RateLimitStorageModule, ThrottlerModule, Shutdown, WaitSlots],
})
export class HttpModule {}
