import { Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { LocalSlidingLog } from '../../../platform/http/sliding-log.js';
import { Redis } from '../../../platform/redis/redis.js';

const WINDOW_MS = 60_000;

export interface Try {
  allowed: boolean;
  /** The try was a good one and does not count. */
  forgive(): Promise<void>;
}

/**
 * Counts wrong passwords, by name and address and by address alone. A try is counted before it is judged, so that many at
 * once are no way around the limit. While Redis is away each process counts for itself, good tries too.
 */
@Injectable()
export class LoginTries {
  private readonly local = new LocalSlidingLog();

  constructor(private readonly redis: Redis) {}

  async begin(name: string, address: string): Promise<Try> {
    const limits: [key: string, limit: number][] = [
      [keyOf(`${name} ${address}`), 10],
      [keyOf(address), 50],
    ];
    try {
      const commands = limits.flatMap(([key]) => [
        ['incr', key],
        ['pexpire', key, String(WINDOW_MS), 'NX'],
      ]);
      const answers = (await this.redis.fast.multi(commands).exec()) ?? [];
      const allowed = limits.every(([, limit], index) => Number(answers[2 * index]?.[1]) <= limit);
      return { allowed, forgive: () => this.forgive(limits.map(([key]) => key)) };
    } catch {
      const allowed = limits.map(([key, limit]) => this.local.hit(key, limit, WINDOW_MS).accepted).every(Boolean);
      return { allowed, forgive: async () => {} };
    }
  }

  private async forgive(keys: string[]): Promise<void> {
    // A count that is never taken back expires a minute later all the same.
    await this.redis.fast
      .multi(keys.map((key) => ['decr', key]))
      .exec()
      .catch(() => undefined);
  }
}

function keyOf(text: string): string {
  return `sftp:tries:${createHash('sha256').update(text).digest('base64url')}`;
}
