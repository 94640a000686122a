import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../platform/auth/principal.js';
import { UsageMeter, type ResourceUsage } from '../../instances/usage-meter.service.js';
import { ServerRepository } from '../server.repository.js';
import { ServerUsageReader } from './server-usage.reader.js';

@Injectable()
export class UsageService {
  constructor(
    private readonly servers: ServerRepository,
    private readonly reader: ServerUsageReader,
    private readonly meter: UsageMeter,
  ) {}

  /** Consumption as of at most a few seconds ago; polling faster gives the same value. */
  async get(caller: Principal, id: string): Promise<ResourceUsage> {
    await this.servers.findOwned(caller.accountId, id);
    return this.meter.read(id, this.reader);
  }
}
