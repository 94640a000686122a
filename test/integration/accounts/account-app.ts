import { Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Writable } from 'node:stream';
import { ConfigModule } from '../../../src/config/config.module.js';
import { loadConfig } from '../../../src/config/config.js';
import {
  ACCOUNT_PANEL_CONTROLLERS,
  ACCOUNT_PUBLIC_CONTROLLERS,
} from '../../../src/modules/accounts/account-controllers.js';
import { ACCOUNT_ENTITIES } from '../../../src/modules/accounts/account-entities.js';
import { ApiAuthModule } from '../../../src/modules/accounts/api-auth.module.js';
import { DatabaseModule } from '../../../src/platform/database/database.module.js';
import { ActivityEvent } from '../../../src/platform/events/activity-event.entity.js';
import { EventsModule } from '../../../src/platform/events/events.module.js';
import { HttpModule } from '../../../src/platform/http/http.module.js';
import { IdempotencyKey } from '../../../src/platform/http/idempotency-key.entity.js';
import { configureHttp, HTTP_APPLICATION_OPTIONS } from '../../../src/platform/http/setup-http.js';
import { createLogger, NestLogger } from '../../../src/platform/observability/logger.js';
import { ObservabilityModule } from '../../../src/platform/observability/observability.module.js';
import { RedisModule } from '../../../src/platform/redis/redis.module.js';
import { freePort } from '../../support/free-ports.js';
import { stack } from '../../support/stack.js';

export const ENTITIES = [...ACCOUNT_ENTITIES, ActivityEvent, IdempotencyKey];

export interface AccountApp {
  url: string;
  /** Every route of it, as `METHOD /path/:parameter`. */
  routes: string[];
  /** All log lines so far. */
  log: () => string;
  close: () => Promise<void>;
}

/** Redis of the test stack, in a database number that nobody else uses. */
export function redisUrl(): string {
  return stack.env().REDIS_URL!.replace(/\/\d+$/, '/11');
}

/** A process-like api role with this module's routes only, on a port of its own. */
export async function startAccountApp(
  databaseUrl: string,
  settings: Record<string, string> = {},
  controllers: Type[] = [],
): Promise<AccountApp> {
  const port = await freePort();
  const config = loadConfig(
    {
      ...stack.env(),
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl(),
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      RATE_LIMIT_PER_MINUTE: '100000',
      PANEL_RATE_LIMIT_PER_MINUTE: '100000',
      ...settings,
    },
    '/dev/null',
  );
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  });
  const logger = createLogger({ logLevel: 'info' }, sink);

  @Module({
    imports: [
      ConfigModule.forRoot(config),
      ObservabilityModule.forRoot(logger),
      DatabaseModule.forRoot('test', ENTITIES),
      RedisModule,
      EventsModule,
      HttpModule,
      ApiAuthModule,
    ],
    controllers: [...ACCOUNT_PUBLIC_CONTROLLERS, ...ACCOUNT_PANEL_CONTROLLERS, ...controllers],
  })
  class AccountAppModule {}

  const app = await NestFactory.create<NestExpressApplication>(AccountAppModule, {
    ...HTTP_APPLICATION_OPTIONS,
    logger: new NestLogger(logger),
    abortOnError: false,
  });
  try {
    configureHttp(app);
    await app.listen(port, '127.0.0.1');
  } catch (error) {
    await app.close();
    throw error;
  }
  return {
    url: `http://127.0.0.1:${port}`,
    routes: routesOf(app),
    log: () => lines.join(''),
    close: async () => {
      (app.getHttpServer() as { closeAllConnections(): void }).closeAllConnections();
      await app.close();
    },
  };
}

interface Layer {
  route?: { path: string; methods: Record<string, boolean> };
}

function routesOf(app: NestExpressApplication): string[] {
  const { router } = app.getHttpAdapter().getInstance() as { router: { stack: Layer[] } };
  return router.stack.flatMap(({ route }) =>
    route ? Object.keys(route.methods).map((method) => `${method.toUpperCase()} ${route.path}`) : [],
  );
}
