import { Module, type DynamicModule } from '@nestjs/common';
import { loadConfig, type Config } from '../config/config.js';
import { ApiAuthModule } from '../modules/accounts/api-auth.module.js';
import { PagesOriginModule } from '../modules/pages/pages.module.js';
import { PublicStorageModule } from '../modules/storage/storage.module.js';
import { HttpModule } from '../platform/http/http.module.js';
import { HealthController } from '../platform/observability/health.controller.js';
import { createLogger, type AppLogger } from '../platform/observability/logger.js';
import { DocsModule } from '../surfaces/docs.module.js';
import { InternalApiModule } from '../surfaces/internal-api.module.js';
import { PanelApiModule } from '../surfaces/panel-api.module.js';
import { PublicApiModule } from '../surfaces/public-api.module.js';
import { VaultSurfaceModule } from '../surfaces/vault.module.js';
import { ControlPlaneModule } from './control-plane.module.js';
import { KeysModule } from './keys.module.js';
import { WebModule } from './web.module.js';
import { PackerModule } from './packer.module.js';

/** Everything the api role serves. */
@Module({})
export class ApiModule {
  static forRoot(config: Config, log: AppLogger): DynamicModule {
    return {
      module: ApiModule,
      imports: [
        ControlPlaneModule.forRoot('api', config, log),
        KeysModule,
        WebModule,
        HttpModule,
        ApiAuthModule,
        // Routes are looked for one after another: those of nodes, asked for most often, first.
        InternalApiModule,
        PublicApiModule,
        PanelApiModule,
        VaultSurfaceModule,
        PublicStorageModule,
        PackerModule,
        PagesOriginModule,
        DocsModule,
      ],
      controllers: [HealthController],
    };
  }

  /** The same to be read for its routes, never to be started: no setting is looked at. */
  static forDocuments(): DynamicModule {
    return ApiModule.forRoot(loadConfig({}, '/dev/null'), createLogger({ logLevel: 'fatal' }));
  }
}
