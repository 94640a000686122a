import { Writable } from 'node:stream';
import { type CanActivate, type ExecutionContext, Injectable, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Request } from 'express';
import { loadConfig } from '../../../src/config/config.js';
import { ConfigModule } from '../../../src/config/config.module.js';
import { keyRefused } from '../../../src/platform/auth/auth-errors.js';
import { setPrincipal } from '../../../src/platform/auth/principal.js';
import { DatabaseModule } from '../../../src/platform/database/database.module.js';
import { clientAddress } from '../../../src/platform/http/client-address.js';
import { HttpModule } from '../../../src/platform/http/http.module.js';
import { IdempotencyKey } from '../../../src/platform/http/idempotency-key.entity.js';
import { configureHttp, HTTP_APPLICATION_OPTIONS } from '../../../src/platform/http/setup-http.js';
import { createLogger, NestLogger } from '../../../src/platform/observability/logger.js';
import { ObservabilityModule } from '../../../src/platform/observability/observability.module.js';
import { RedisModule } from '../../../src/platform/redis/redis.module.js';
import { stack } from '../../support/stack.js';

/** Takes `Authorization: Bearer <account id>` for granted; what the kernel does is the same for any guard. */
@Injectable()
export class NameGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<Request>();
    const [, accountId] = /^Bearer (usr_\w+)$/.exec(request.headers.authorization ?? '') ?? [];
    if (!accountId) throw keyRefused();
    setPrincipal(request, {
      accountId,
      via: 'key',
      keyId: null,
      scopes: new Set(['read', 'write']),
      address: clientAddress(request),
    });
    return true;
  }
}

let started = 0;

export interface KernelApp {
  url: string;
  app: NestExpressApplication;
  log: () => string;
  /** How many requests something was begun for before the limit had its say. */
  anticipated: () => number;
  close: () => Promise<void>;
}

/** The HTTP kernel with a few routes, as a process of the api role has it. */
export async function startKernelApp(settings: Record<string, string>, controllers: Type[]): Promise<KernelApp> {
  const config = loadConfig({ ...stack.env(), ...settings }, '/dev/null');
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
      DatabaseModule.forRoot(`kernel-${++started}`, [IdempotencyKey]),
      RedisModule,
      HttpModule,
    ],
    controllers,
  })
  class KernelModule {}

  const app = await NestFactory.create<NestExpressApplication>(KernelModule, {
    ...HTTP_APPLICATION_OPTIONS,
    logger: new NestLogger(logger),
    abortOnError: false,
  });
  let anticipated = 0;
  configureHttp(app, () => anticipated++);
  await app.listen(0, '127.0.0.1');
  return {
    url: await app.getUrl(),
    app,
    log: () => lines.join(''),
    anticipated: () => anticipated,
    close: () => app.close(),
  };
}
