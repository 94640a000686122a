import { Global, Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { Config } from '../config/config.js';
import { createEngine, type EngineOptions } from '../drivers/engine/engine.factory.js';
import { Engine, type NetworkSpec } from '../drivers/engine/engine.js';
import { Health } from '../platform/observability/health.js';

/** The services' network and the machines': two bridges, which the packet filter keeps apart. */
export function platformNetworks(config: Config): NetworkSpec[] {
  return [
    { name: config.appNetwork, gateway: config.appSubnet },
    { name: config.machineNetwork, gateway: config.machineSubnet, dhcp: true },
  ];
}

let shared: Engine | undefined;

export function engineOptions(config: Config): EngineOptions {
  return {
    url: config.require('engineUrl'),
    project: config.engineProject,
    pool: config.enginePool,
    poolSizeGb: config.enginePoolSizeGb,
    networks: platformNetworks(config),
    clientCertFile: config.engineClientCertFile,
    clientKeyFile: config.engineClientKeyFile,
    caFile: config.engineCaFile,
  };
}

/** One engine per process: its connections are shared by the roles, and a simulated one has to be the same for all. */
export function sharedEngine(config: Config): Engine {
  shared ??= createEngine(engineOptions(config));
  return shared;
}

@Global()
@Module({
  providers: [{ provide: Engine, inject: [Config], useFactory: sharedEngine }],
  exports: [Engine],
})
export class EngineModule implements OnModuleInit, OnApplicationShutdown {
  constructor(
    private readonly engine: Engine,
    private readonly health: Health,
  ) {}

  onModuleInit(): void {
    this.health.register({ name: 'engine', critical: false, check: () => this.engine.info() });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.engine.close();
  }
}
