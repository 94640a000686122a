import type { NestExpressApplication } from '@nestjs/platform-express';
import { Config } from '../../config/config.js';
import { AppLogger } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
import { RequestLog } from '../observability/request-log.js';
import { ClientAddresses } from './client-address.js';
import { continueOnRead } from './drain.js';
import { endConnections } from './end-server.js';
import { entry, type EntryParts } from './entry.js';
import { RateLimiter, type RateLimitZone } from './rate-limit.js';
import { SlidingLogStorage } from './rate-limit.storage.js';
import { apiHeaders } from './security-headers.js';
import { Shutdown } from './shutdown.js';

/** Options for `NestFactory.create` of an application that `configureHttp` sets up: bodies are read after the guards. */
export const HTTP_APPLICATION_OPTIONS = { bodyParser: false } as const;

function zonesOf(config: Config): RateLimitZone[] {
  return [
    { name: 'default', prefix: '/api/v1', perMinute: config.rateLimitPerMinute },
    { name: 'vault', prefix: '/vault/v1', perMinute: config.rateLimitPerMinute },
    { name: 'panel', prefix: '/panel', perMinute: config.panelRateLimitPerMinute },
  ];
}

/**
 * Mounts what comes before routing: request ids and context, headers, log lines, the rate limit. Call it once, right after
 * the application is made and before anything else is mounted on it:
 *
 *     const app = await NestFactory.create<NestExpressApplication>(ApiModule, { ...HTTP_APPLICATION_OPTIONS, logger });
 *     configureHttp(app);
 *     // sessions and other middleware of the surfaces
 *     await app.listen(config.port, config.host);
 *
 * `ApiModule` imports `ConfigModule`, `ObservabilityModule`, `RedisModule`, `DatabaseModule` and `HttpModule`.
 */
export function configureHttp(app: NestExpressApplication, anticipate?: EntryParts['anticipate']): void {
  const config = app.get(Config);
  const addresses = new ClientAddresses(config.trustedProxies);
  const express = app.getHttpAdapter().getInstance();
  app.disable('x-powered-by');
  app.disable('etag'); // answers are not to be stored, so nobody has a version to compare
  app.set('query parser', 'simple');
  app.set('trust proxy', (address: string) => addresses.trusts(address));
  app.use(
    entry({
      addresses,
      limiter: new RateLimiter(app.get(SlidingLogStorage), zonesOf(config)),
      headers: apiHeaders(config.publicUrl.startsWith('https:')),
      log: new RequestLog(app.get(AppLogger), app.get(Metrics)),
      shutdown: app.get(Shutdown),
      anticipate,
    }),
  );
  const server = app.getHttpServer();
  server.on('checkContinue', (request, response) => {
    continueOnRead(request, response);
    express(request, response);
  });
  // Left to Node, it would be answered before everything that holds for all requests; a server may ignore it (RFC 9110, 10.1.1).
  server.on('checkExpectation', express);
  server.headersTimeout = 15_000;
  server.requestTimeout = 0; // whoever reads a body sees to its pace: an upload may take as long as it keeps coming
  server.keepAliveTimeout = 65_000; // longer than the proxies in front, so that they never use a connection we close
  app.get(Shutdown).signal.addEventListener('abort', () => endConnections(server));
}
