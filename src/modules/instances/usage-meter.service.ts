import { Injectable } from '@nestjs/common';
import { UsageCache, type CpuSample } from './usage.cache.js';
import type { ResourceUsage } from './usage.dto.js';

export { ResourceUsage } from './usage.dto.js';

/** Processor time is a counter: two readings make a percentage. Without an earlier one, this long apart. */
const FIRST_SAMPLE_MS = 250;
const OLDEST_SAMPLE_MS = 60_000;

interface Reading {
  state: string;
  memoryBytes: number;
  cpuNanoseconds: number;
  rxBytes: number;
  txBytes: number;
  startedAt: Date | null;
}

/** Where the figures of one kind of instance come from. */
export interface UsageSource {
  /** Null when there is no container (yet). */
  instance(id: string): Promise<Reading | null>;
  diskBytes(id: string): Promise<number>;
}

/** Consumption of instances, whatever they are for. */
@Injectable()
export class UsageMeter {
  constructor(private readonly cache: UsageCache) {}

  /** As of at most a few seconds ago; polling faster gives the same value. */
  read(id: string, source: UsageSource): Promise<ResourceUsage> {
    return this.cache.getOrRead(id, () => this.measure(id, source));
  }

  private async measure(id: string, source: UsageSource): Promise<ResourceUsage> {
    const [usage, diskBytes] = await Promise.all([source.instance(id), source.diskBytes(id)]);
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
      cpu_percent: await this.cpuPercent(id, source, sampleOf(usage)),
      memory_bytes: usage.memoryBytes,
      disk_bytes: diskBytes,
      network: { rx_bytes: usage.rxBytes, tx_bytes: usage.txBytes },
      uptime_ms: usage.startedAt ? Math.max(0, Date.now() - usage.startedAt.getTime()) : 0,
    };
  }

  private async cpuPercent(id: string, source: UsageSource, sample: CpuSample): Promise<number> {
    const earlier = await this.cache.swapSample(id, sample);
    if (earlier && earlier.startedAt === sample.startedAt && sample.at - earlier.at < OLDEST_SAMPLE_MS) {
      return percentBetween(earlier, sample);
    }
    await new Promise((resolve) => setTimeout(resolve, FIRST_SAMPLE_MS));
    const usage = await source.instance(id);
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
