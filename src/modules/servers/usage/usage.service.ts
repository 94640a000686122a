import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../platform/auth/principal.js';
import type { ResourceUsage } from '../dto/server.dto.js';
import { ServerRepository } from '../server.repository.js';
import { ServerUsageReader } from './server-usage.reader.js';
import { UsageCache, type CpuSample } from './usage.cache.js';

/** Processor time is a counter: two readings make a percentage. Without an earlier one, this long apart. */
const FIRST_SAMPLE_MS = 250;
const OLDEST_SAMPLE_MS = 60_000;

@Injectable()
export class UsageService {
  constructor(
    private readonly servers: ServerRepository,
    private readonly reader: ServerUsageReader,
    private readonly cache: UsageCache,
  ) {}

  /** Consumption as of at most a few seconds ago; polling faster gives the same value. */
  async get(caller: Principal, id: string): Promise<ResourceUsage> {
    await this.servers.findOwned(caller.accountId, id);
    return this.cache.getOrRead(id, () => this.read(id));
  }

  private async read(id: string): Promise<ResourceUsage> {
    const [usage, diskBytes] = await Promise.all([this.reader.instance(id), this.reader.diskBytes(id)]);
    if (!usage || usage.state !== 'running') {
      return {
        cpu_percent: 0,
        memory_bytes: 0,
        disk_bytes: diskBytes,
        network: { rx_bytes: 0, tx_bytes: 0 },
        uptime_ms: 0,
      };
    }
    return {
      cpu_percent: await this.cpuPercent(id, sampleOf(usage)),
      memory_bytes: usage.memoryBytes,
      disk_bytes: diskBytes,
      network: { rx_bytes: usage.rxBytes, tx_bytes: usage.txBytes },
      uptime_ms: usage.startedAt ? Math.max(0, Date.now() - usage.startedAt.getTime()) : 0,
    };
  }

  private async cpuPercent(id: string, sample: CpuSample): Promise<number> {
    const earlier = await this.cache.swapSample(id, sample);
    if (earlier && earlier.startedAt === sample.startedAt && sample.at - earlier.at < OLDEST_SAMPLE_MS) {
      return percentBetween(earlier, sample);
    }
    await new Promise((resolve) => setTimeout(resolve, FIRST_SAMPLE_MS));
    const usage = await this.reader.instance(id);
    if (!usage || usage.state !== 'running') return 0;
    return percentBetween(sample, sampleOf(usage));
  }
}

function sampleOf(usage: { cpuNanoseconds: number; startedAt: Date | null }): CpuSample {
  return { at: Date.now(), cpuNanoseconds: usage.cpuNanoseconds, startedAt: usage.startedAt?.getTime() ?? null };
}

/** Percent of one core, three decimals. */
function percentBetween(from: CpuSample, to: CpuSample): number {
  const elapsed = (to.at - from.at) * 1e6;
  if (elapsed <= 0) return 0;
  return Math.max(0, Math.round(((to.cpuNanoseconds - from.cpuNanoseconds) / elapsed) * 100_000) / 1000);
}
