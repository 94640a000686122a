import { type MiddlewareConsumer, Module, type NestModule, RequestMethod } from '@nestjs/common';
import { EnvDoor, SecretsDoor } from '../modules/vault/reads/token-reads.middleware.js';
import { VaultModule } from '../modules/vault/vault.module.js';

const { GET: method } = RequestMethod;

/** What stands under `/vault/v1`: for programs with a runtime token. */
@Module({ imports: [VaultModule] })
export class VaultSurfaceModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(SecretsDoor).forRoutes({ path: 'vault/v1/secrets', method });
    consumer.apply(EnvDoor).forRoutes({ path: 'vault/v1/env', method });
  }
}
