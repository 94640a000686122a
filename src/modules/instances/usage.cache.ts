import { Injectable } from '@nestjs/common';
import { Redis } from '../../platform/redis/redis.js';
import type { ResourceUsage } from './usage.dto.js';

const TTL_SECONDS = 2;
const SAMPLE_TTL_SECONDS = 120;

export interface CpuSample {
  at: number;
  cpuNanoseconds: number;
  startedAt: number | null;
}

/** Keeps readings for all processes in Redis; without it each request reads for itself. */
@Injectable()
export class UsageCache {
  private readonly pending = new Map<string, Promise<ResourceUsage>>();

  constructor(private readonly redis: Redis) {}

  /** The cached reading, or a fresh one; requests that come together share it. */
  async getOrRead(id: string, read: () => Promise<ResourceUsage>): Promise<ResourceUsage> {
    const key = `usage:${id}`;
    const cached = await this.quietly(() => this.redis.fast.get(key));
    if (cached) return JSON.parse(cached) as ResourceUsage;
    const running = this.pending.get(id);
    if (running) return running;
    const reading = read().finally(() => this.pending.delete(id));
    this.pending.set(id, reading);
    const usage = await reading;
    // The first of two processes that read at once wins, so that everybody sees one value.
    const stored = await this.quietly(() => this.redis.fast.set(key, JSON.stringify(usage), 'EX', TTL_SECONDS, 'NX'));
    if (stored === null) {
      const winner = await this.quietly(() => this.redis.fast.get(key));
      if (winner) return JSON.parse(winner) as ResourceUsage;
    }
    return usage;
  }

  /** Puts down this reading of the processor's counter and answers the one before. */
  async swapSample(id: string, sample: CpuSample): Promise<CpuSample | null> {
    const key = `usage:sample:${id}`;
    const earlier = await this.quietly(() =>
      this.redis.fast.set(key, JSON.stringify(sample), 'EX', SAMPLE_TTL_SECONDS, 'GET'),
    );
    return earlier ? (JSON.parse(earlier) as CpuSample) : null;
  }

  private async quietly<T>(command: () => Promise<T>): Promise<T | null> {
    try {
      return await command();
    } catch {
      return null;
    }
  }
}
