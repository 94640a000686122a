import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../platform/auth/principal.js';
import { UsageMeter, type ResourceUsage } from '../../instances/usage-meter.service.js';
import { MachineRepository } from '../machine.repository.js';
import { MachineUsageReader } from './machine-usage.reader.js';

@Injectable()
export class MachineUsageService {
  constructor(
    private readonly machines: MachineRepository,
    private readonly reader: MachineUsageReader,
    private readonly meter: UsageMeter,
  ) {}

  /** Consumption as of at most a few seconds ago; polling faster gives the same value. */
  async get(caller: Principal, id: string): Promise<ResourceUsage> {
    await this.machines.findOwned(caller.accountId, id);
    return this.meter.read(id, this.reader);
  }
}
