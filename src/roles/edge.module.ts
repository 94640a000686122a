import { Global, Module } from '@nestjs/common';
import { Config } from '../config/config.js';
import { createEdge } from '../drivers/edge/edge.factory.js';
import { Edge } from '../drivers/edge/edge.js';

/** What stands before the sites; null where the operator has nothing there. */
@Global()
@Module({
  providers: [
    {
      provide: Edge,
      inject: [Config],
      useFactory: ({ caddyAdminUrl }: Config) => (caddyAdminUrl === undefined ? null : createEdge(caddyAdminUrl)),
    },
  ],
  exports: [Edge],
})
export class EdgeModule {}
