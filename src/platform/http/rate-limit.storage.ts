import { Injectable } from '@nestjs/common';
import type { ThrottlerStorage } from '@nestjs/throttler';
import type { Counter } from 'prom-client';
import { AppLogger } from '../observability/logger.js';
import { Metrics } from '../observability/metrics.js';
import { Redis } from '../redis/redis.js';
import { RedisSlidingLog } from './redis-sliding-log.js';
import { LocalSlidingLog, type Decision } from './sliding-log.js';

/** Redis answers in well under a millisecond; one that does not answer in this time is away. */
const DEADLINE_MS = 100;
const RETRY_AFTER_MS = 1000;

const AWAY = Symbol('away');

/** What a client is told to wait, at least a second. */
export function wholeSeconds(waitMs: number): number {
  return Math.max(1, Math.ceil(waitMs / 1000));
}

/** What @nestjs/throttler's storage answers. Times are in seconds. */
type StorageRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/**
 * The storage behind every limit: a sliding log in Redis, shared by all processes. While Redis is away each process goes on
 * with a log of its own, which it keeps up to date all along, so that an outage (or a Redis that lost its data) does not
 * hand out the budget a second time.
 */
@Injectable()
export class SlidingLogStorage implements ThrottlerStorage {
  private readonly shared: RedisSlidingLog;
  private readonly local = new LocalSlidingLog();
  private readonly fallbacks: Counter;
  private awayUntil = 0;
  private away = false;

  constructor(
    redis: Redis,
    metrics: Metrics,
    private readonly log: AppLogger,
  ) {
    this.shared = new RedisSlidingLog(redis.fast);
    this.fallbacks = metrics.counter('berth_rate_limit_local_total', 'Requests that were limited without Redis');
  }

  /** @param ttl length of the window in milliseconds */
  async increment(key: string, ttl: number, limit: number): Promise<StorageRecord> {
    const { accepted, hits, waitMs } = await this.hit(key, limit, ttl);
    const seconds = wholeSeconds(waitMs);
    return { totalHits: hits, timeToExpire: seconds, isBlocked: !accepted, timeToBlockExpire: accepted ? 0 : seconds };
  }

  /** `meanwhile` is called, before this returns, where this process knows no reason to refuse; Redis may have one. */
  async hit(key: string, limit: number, windowMs: number, meanwhile?: () => void): Promise<Decision> {
    // What this process accepted itself and what Redis refused are part of what Redis knows, so a refusal by them is right, and
    // costs no round trip.
    const own = this.local.peek(key, limit, windowMs);
    if (!own.accepted) return own;
    meanwhile?.();
    const at = this.local.clock();
    if (at >= this.awayUntil) {
      if (this.away) this.awayUntil = at + RETRY_AFTER_MS; // this request tries; the others go on without Redis
      const decision = await this.ask(key, limit, windowMs);
      if (decision !== AWAY) {
        this.recovered();
        if (decision.accepted) this.local.record(key, at, limit);
        else this.local.refuse(key, at + decision.waitMs);
        return decision;
      }
      this.lost();
    }
    this.fallbacks.inc();
    return this.local.hit(key, limit, windowMs);
  }

  private ask(key: string, limit: number, windowMs: number): Promise<Decision | typeof AWAY> {
    return new Promise((resolve) => {
      // A process that was busy has its timers due before it gets to read what Redis answered long ago: one more turn.
      const timer = setTimeout(() => setImmediate(resolve, AWAY), DEADLINE_MS);
      this.shared.hit(key, limit, windowMs).then(
        (decision) => {
          clearTimeout(timer);
          resolve(decision);
        },
        () => {
          clearTimeout(timer);
          resolve(AWAY);
        },
      );
    });
  }

  private lost(): void {
    this.awayUntil = this.local.clock() + RETRY_AFTER_MS;
    if (!this.away) this.log.warn('Redis does not answer: rate limits are kept per process');
    this.away = true;
  }

  private recovered(): void {
    if (this.away) this.log.info('Rate limits are shared again');
    this.away = false;
    this.awayUntil = 0;
  }
}
