import { Module, type DynamicModule } from '@nestjs/common';
import { InternalApiClient } from '../platform/internal-api/internal-api.client.js';
import { AppLogger } from '../platform/observability/logger.js';
import { BrokerGate } from './broker-gate.js';
import { BrokerRoutes } from './broker-routes.js';
import { BrokerSettings } from './broker-settings.js';
import { CallerMap } from './caller-map.js';
import { SecretReads } from './secret-reads.service.js';
import { StrangerLog } from './stranger-log.js';

export interface BrokerParts {
  settings: BrokerSettings;
  callers: CallerMap;
  api: InternalApiClient;
  log: AppLogger;
}

/** The secrets broker: an application of its own, so that no route of the platform's other surfaces can stand on its port. */
@Module({})
export class BrokerModule {
  static forRoot({ settings, callers, api, log }: BrokerParts): DynamicModule {
    return {
      module: BrokerModule,
      providers: [
        { provide: BrokerSettings, useValue: settings },
        { provide: CallerMap, useValue: callers },
        { provide: InternalApiClient, useValue: api },
        { provide: AppLogger, useValue: log },
        SecretReads,
        StrangerLog,
        BrokerGate,
        BrokerRoutes,
      ],
    };
  }
}
