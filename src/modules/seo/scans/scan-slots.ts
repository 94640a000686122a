import { Injectable } from '@nestjs/common';
import { setTimeout as pause } from 'node:timers/promises';
import pLimit, { type LimitFunction } from 'p-limit';
import { UnderWay } from '../../../platform/batching/under-way.js';
import { DomainError } from '../../../platform/errors/domain-error.js';
import { Redis } from '../../../platform/redis/redis.js';
import { SharedPlaces } from '../../../platform/redis/shared-places.js';

const SCANS_PER_ACCOUNT = 2;
const SCANS_PER_PROCESS = 10;
const REQUESTS_PER_HOST = 4;
/** Longer than any request to a site takes. */
const LEASE_MS = 30_000;
const RETRY_MS = 50;

/** How much is asked of sites at once: of one host by all processes together, of all of them by this one. */
@Injectable()
export class ScanSlots {
  private readonly places: SharedPlaces;
  private readonly scans = new UnderWay();
  private readonly hosts = new Map<string, LimitFunction>();

  constructor(redis: Redis) {
    this.places = new SharedPlaces(redis.fast, LEASE_MS);
  }

  /** Throws 429 when the account, or everybody, has enough scans under way. */
  async scanning<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    if (this.scans.of(accountId) >= SCANS_PER_ACCOUNT || this.scans.total >= SCANS_PER_PROCESS) {
      throw new DomainError('rate_limited', 'too_many_scans', 'Too many scans are under way at once.', {
        retryAfterSeconds: 10,
      });
    }
    return this.scans.during(accountId, work);
  }

  /** Waits until the host is asked for little enough, or the signal is aborted, by which the work is to end. */
  async asking<T>(host: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    let limit = this.hosts.get(host);
    if (!limit) this.hosts.set(host, (limit = pLimit(REQUESTS_PER_HOST)));
    try {
      return await limit(async () => {
        const giveBack = await this.placeAt(host, signal);
        try {
          return await work();
        } finally {
          await giveBack().catch(() => undefined);
        }
      });
    } finally {
      if (limit.activeCount === 0 && limit.pendingCount === 0) this.hosts.delete(host);
    }
  }

  private async placeAt(host: string, signal: AbortSignal): Promise<() => Promise<void>> {
    for (;;) {
      if (signal.aborted) return async () => undefined;
      try {
        const giveBack = await this.places.take(`berth:scanned:${host}`, REQUESTS_PER_HOST);
        if (giveBack) return giveBack;
      } catch {
        // While Redis is away the limit is kept per process, as others are.
        return async () => undefined;
      }
      // Not all at once again.
      await pause(RETRY_MS * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined);
    }
  }
}
