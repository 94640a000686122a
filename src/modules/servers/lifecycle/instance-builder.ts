import { Injectable } from '@nestjs/common';
import { Config } from '../../../config/config.js';
import type { InstanceLimits, InstanceSpec } from '../../../drivers/engine/engine.js';
import { Database } from '../../../platform/database/database.js';
import { NetworkLedger } from '../allocations/network-ledger.js';
import { publishedPorts } from './published-ports.js';
import { Server } from '../server.entity.js';
import { engineName, type Limits } from '../server.operations.js';
import { ServerRepository } from '../server.repository.js';
import { StartupService } from '../startup/startup.service.js';

/** Root file system of every service; the account's data is on a volume of its own. */
const ROOT_DISK_MB = 2048;
const MAX_PROCESSES = 512;

export type Phase = 'install' | 'run';

/** Turns the rows of a service into what the engine is to make of it. */
@Injectable()
export class InstanceBuilder {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly servers: ServerRepository,
    private readonly ledger: NetworkLedger,
    private readonly startup: StartupService,
  ) {}

  async spec(server: Server, phase: Phase): Promise<InstanceSpec> {
    const [address, allocations, environment] = await Promise.all([
      this.ledger.addressOf(this.database, server.id),
      this.servers.allocations(server.id),
      this.environment(server, phase),
    ]);
    const name = engineName(server.id);
    return {
      name,
      owner: server.id,
      image: server.image,
      volume: name,
      limits: instanceLimits(server),
      rootDiskMb: ROOT_DISK_MB,
      network: { name: this.config.appNetwork, address, gateway: this.ledger.gateway },
      environment,
      ports: publishedPorts(allocations),
    };
  }

  /** The program's variables, and after them those the platform sets, which win. */
  async environment(server: Server, phase: Phase): Promise<Record<string, string>> {
    const [variables, allocations] = await Promise.all([
      this.startup.values(server),
      this.servers.allocations(server.id),
    ]);
    const primary = allocations.find((allocation) => allocation.isPrimary);
    return {
      ...variables,
      SERVER_MEMORY: String(server.ram),
      SERVER_UUID: server.uuid,
      ...(primary ? { SERVER_PORT: String(primary.port) } : {}),
      GIT_ALLOW_PROTOCOL: this.config.gitAllowFile ? 'http:https:file' : 'http:https',
      BERTH_PHASE: phase,
    };
  }
}

export function instanceLimits({ ram, cpu }: Pick<Limits, 'ram' | 'cpu'>): InstanceLimits {
  return { memoryMb: ram, cpuPercent: cpu, processes: MAX_PROCESSES };
}
