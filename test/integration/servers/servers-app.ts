import { BullModule } from '@nestjs/bull';
import {
  type DynamicModule,
  Global,
  type INestApplicationContext,
  Module,
  type Provider,
  type Type,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigModule } from '../../../src/config/config.module.js';
import { loadConfig } from '../../../src/config/config.js';
import { createDatabaseHosts } from '../../../src/drivers/database-host/database-host.factory.js';
import { DatabaseHosts } from '../../../src/drivers/database-host/database-host.js';
import { Engine } from '../../../src/drivers/engine/engine.js';
import { SimulatorEngine } from '../../../src/drivers/engine/simulator/simulator-engine.js';
import { createBlobStore } from '../../../src/drivers/objects/blob-store.factory.js';
import { BlobStore } from '../../../src/drivers/objects/blob-store.js';
import { AccountsService } from '../../../src/modules/accounts/accounts.service.js';
import { ENTITIES } from '../../../src/modules/entities.js';
import { NodesService } from '../../../src/modules/nodes/nodes.service.js';
import { Archiver } from '../../../src/modules/servers/backups/lifecycle/archiver.js';
import { StreamingArchiver } from '../../../src/modules/servers/backups/lifecycle/streaming-archiver.js';
import { Server } from '../../../src/modules/servers/server.entity.js';
import { ServersModule, ServersWorkerModule } from '../../../src/modules/servers/servers.module.js';
import { ServersService } from '../../../src/modules/servers/servers.service.js';
import type { Principal } from '../../../src/platform/auth/principal.js';
import { DatabaseModule } from '../../../src/platform/database/database.module.js';
import { EventsModule } from '../../../src/platform/events/events.module.js';
import { createLogger, NestLogger } from '../../../src/platform/observability/logger.js';
import { ObservabilityModule } from '../../../src/platform/observability/observability.module.js';
import { OperationsModule, OperationsWorkerModule } from '../../../src/platform/operations/operations.module.js';
import { Redis } from '../../../src/platform/redis/redis.js';
import { RedisModule } from '../../../src/platform/redis/redis.module.js';
import { TestDatabase } from '../../support/database.js';
import { RedisServer } from '../../support/redis-server.js';
import { stack } from '../../support/stack.js';
import { until } from '../../support/until.js';

const SUBNET = { name: 'berth0', gateway: '10.158.0.1/16' };
const MACHINES = { name: 'berth0m', gateway: '10.58.0.1/16', dhcp: true };
const MACHINE_IMAGE = { alias: 'debian/12', sizeBytes: 1, properties: { 'berth.machine': 'true', os: 'Debian' } };

let contexts = 0;

/** Services on a simulated engine: the side that accepts changes, and as many workers as a test wants. */
export class ServersApp {
  private readonly workers: INestApplicationContext[] = [];

  private constructor(
    readonly database: TestDatabase,
    private readonly redis: RedisServer,
    readonly engine: SimulatorEngine,
    private readonly settings: Record<string, string>,
    private readonly folder: string,
    readonly api: INestApplicationContext,
  ) {}

  /** `modules` stand beside the services', with `providers` for what they need. */
  static async start(
    settings: Record<string, string> = {},
    modules: (Type | DynamicModule)[] = [],
    providers: Provider[] = [],
  ): Promise<ServersApp> {
    const [database, redis] = await Promise.all([TestDatabase.create(ENTITIES), RedisServer.start()]);
    const engine = new SimulatorEngine({ images: ['nodejs', MACHINE_IMAGE], networks: [SUBNET, MACHINES], startMs: 5 });
    const folder = mkdtempSync(join(tmpdir(), 'berth-blobs-'));
    const all = {
      OBJECT_STORE_URL: `file:${folder}`,
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      ENGINE_URL: 'simulator:',
      APP_NETWORK: SUBNET.name,
      APP_SUBNET: SUBNET.gateway,
      MACHINE_NETWORK: MACHINES.name,
      MACHINE_SUBNET: MACHINES.gateway,
      OPERATION_LEASE_SECONDS: '2',
      VAULT_ANCHOR_FILE: join(folder, 'vault-anchor'),
      ...settings,
    };
    const api = await context(all, engine, [ServersModule, ...modules], providers);
    await api.get(NodesService).register('node-1', 'x'.repeat(40));
    return new ServersApp(database, redis, engine, all, folder, api);
  }

  /** One worker more; `providers` stand in for what this test is not about. */
  async startWorker(
    modules: (Type | DynamicModule)[] = [],
    providers: Provider[] = [],
  ): Promise<INestApplicationContext> {
    const all = [OperationsWorkerModule, ServersWorkerModule, ...modules];
    const worker = await context(this.settings, this.engine, all, providers);
    this.workers.push(worker);
    return worker;
  }

  /** One more process that accepts changes, with settings of its own. */
  async startApi(
    settings: Record<string, string>,
    modules: (Type | DynamicModule)[],
    providers: Provider[],
  ): Promise<INestApplicationContext> {
    const api = await context({ ...this.settings, ...settings }, this.engine, [ServersModule, ...modules], providers);
    this.workers.push(api);
    return api;
  }

  async stopWorkers(): Promise<void> {
    await Promise.all(this.workers.splice(0).map((worker) => worker.close()));
  }

  async makeCaller(name: string): Promise<Principal> {
    const { id } = await this.api
      .get(AccountsService)
      .create({ username: name, email: `${name}@example.test`, plan: 'pro' });
    return { accountId: id, via: 'key', keyId: null, scopes: new Set(['read', 'write']), address: '127.0.0.1' };
  }

  /** A service that runs. A worker must be there to make it. */
  async makeServer(caller: Principal): Promise<string> {
    const wanted = { name: 'tested', runtime: 'nodejs' as const, ram: 128, disk: 512, cpu: 50 };
    const { id } = await this.api.get(ServersService).create(caller, wanted);
    await this.status(id, 'RUNNING');
    return id;
  }

  async status(id: string, wanted: string): Promise<void> {
    const manager = this.database.source.manager;
    await until(`${wanted}`, async () => (await manager.findOneByOrFail(Server, { id })).status === wanted);
  }

  async close(): Promise<void> {
    await this.stopWorkers();
    await this.api.close();
    await this.engine.close();
    await this.redis.close();
    await this.database.drop();
    rmSync(this.folder, { recursive: true });
  }
}

@Global()
@Module({})
class TestEngineModule {
  static of(engine: Engine, blobs: BlobStore, providers: Provider[]): DynamicModule {
    const all = [
      { provide: Engine, useValue: engine },
      { provide: BlobStore, useValue: blobs },
      { provide: DatabaseHosts, useValue: createDatabaseHosts() },
      { provide: Archiver, useValue: new StreamingArchiver(engine, blobs) },
      ...providers,
    ];
    const tokens = all.map((provider) => ('provide' in provider ? provider.provide : provider));
    return { module: TestEngineModule, providers: all, exports: tokens };
  }
}

@Module({})
class TestModule {}

async function context(
  settings: Record<string, string>,
  engine: Engine,
  modules: (Type | DynamicModule)[],
  providers: Provider[],
): Promise<INestApplicationContext> {
  const config = loadConfig({ ...stack.env(), ...settings }, '/dev/null');
  const log = createLogger({ logLevel: 'fatal' });
  const module: DynamicModule = {
    module: TestModule,
    imports: [
      ConfigModule.forRoot(config),
      ObservabilityModule.forRoot(log),
      DatabaseModule.forRoot(`servers-${++contexts}`, ENTITIES),
      RedisModule,
      BullModule.forRootAsync({
        inject: [Redis],
        useFactory: (redis: Redis) => ({ prefix: 'berth', createClient: () => redis.createForQueue() }),
      }),
      TestEngineModule.of(engine, await createBlobStore({ url: config.require('objectStoreUrl') }), providers),
      EventsModule,
      OperationsModule,
      ...modules,
    ],
  };
  return NestFactory.createApplicationContext(module, { logger: new NestLogger(log), abortOnError: false });
}
