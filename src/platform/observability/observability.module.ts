import { Global, Module, type DynamicModule } from '@nestjs/common';
import { AppLogger } from './logger.js';
import { Health, health } from './health.js';
import { Metrics, metrics } from './metrics.js';

/** Gives every module `AppLogger`, `Metrics` and `Health`. */
@Global()
@Module({})
export class ObservabilityModule {
  static forRoot(logger: AppLogger): DynamicModule {
    const providers = [
      { provide: AppLogger, useValue: logger },
      { provide: Metrics, useValue: metrics },
      { provide: Health, useValue: health },
    ];
    return { module: ObservabilityModule, providers, exports: providers.map(({ provide }) => provide) };
  }
}
