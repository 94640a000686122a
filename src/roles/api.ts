import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { RequestHandler } from 'express';
import type { Config } from '../config/config.js';
import { InternalListener } from '../modules/nodes/internal-listener.js';
import { SiteListener } from '../modules/pages/serving/site-listener.reader.js';
import { PublicListener } from '../modules/storage/public/public-listener.reader.js';
import { ApiKeyStrategy } from '../platform/auth/api-key.strategy.js';
import { configureHttp, HTTP_APPLICATION_OPTIONS } from '../platform/http/setup-http.js';
import { NestLogger, type AppLogger } from '../platform/observability/logger.js';
import { ApiModule } from './api.module.js';
import type { RunningRole } from './role.js';

/** The application of the api role, not listening yet. */
export async function createApi(config: Config, log: AppLogger): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(ApiModule.forRoot(config, log), {
    ...HTTP_APPLICATION_OPTIONS,
    logger: new NestLogger(log),
    abortOnError: false,
  });
  const keys = app.get(ApiKeyStrategy);
  configureHttp(app, (request) => keys.anticipate(request));
  app.use(app.get(InternalListener).gate);
  return app;
}

/** The public and panel API on one listener, the nodes' on a private one, public objects and sites on ones of their own. */
export async function startApi(config: Config, log: AppLogger): Promise<RunningRole> {
  const app = await createApi(config, log);
  await app.listen(config.port, config.host);
  const internal = app.get(InternalListener);
  await internal.open(app.getHttpAdapter().getInstance() as RequestHandler, config.internalHost, config.internalPort);
  const objects = app.get(PublicListener);
  await objects.open(config.cdnHost, config.cdnPort);
  const sites = app.get(SiteListener);
  await sites.open();
  const ports = { internalPort: internal.port, cdnPort: objects.port, pagesHttpPort: sites.port };
  log.info({ url: await app.getUrl(), ...ports }, 'api listens');
  return {
    close: async () => {
      await internal.close();
      // Who reads an object or a site is let finish, while the others are told that this process ends.
      await Promise.all([objects.close(), sites.close(), app.close()]);
    },
  };
}
