import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { Config } from '../../config/config.js';
import { RefusalLimiter } from '../../platform/auth/authenticators.js';
import { DomainError } from '../../platform/errors/domain-error.js';
import { addressBucket, clientAddress } from '../../platform/http/client-address.js';
import { SlidingLogStorage } from '../../platform/http/rate-limit.storage.js';
import { hashOf } from './api-key.js';

const WINDOW_MS = 60_000;
const REMEMBERED = 10_000;

/**
 * An address may try as many wrong keys a minute as a quarter of its requests (30 of 120); then it is told to wait. The same
 * wrong key again is no new try: that is a client with an old key, which has the general limit.
 */
@Injectable()
export class KeyRefusals extends RefusalLimiter {
  private readonly limit: number;
  /** When a key was last counted for an address. */
  private readonly counted = new Map<string, number>();

  constructor(
    private readonly storage: SlidingLogStorage,
    config: Config,
  ) {
    super();
    this.limit = Math.max(1, Math.floor(config.rateLimitPerMinute / 4));
  }

  async refused(request: Request): Promise<void> {
    const address = addressBucket(clientAddress(request));
    if (this.isRepeated(`${address} ${hashOf(request.headers.authorization ?? '').toString('base64url')}`)) return;
    const key = `rl:refused:${address}`;
    const { isBlocked, timeToBlockExpire } = await this.storage.increment(key, WINDOW_MS, this.limit);
    if (!isBlocked) return;
    throw new DomainError('rate_limited', 'rate_limited', `Too many refused keys; wait ${timeToBlockExpire} s.`, {
      retryAfterSeconds: timeToBlockExpire,
    });
  }

  private isRepeated(attempt: string): boolean {
    const now = Date.now();
    const last = this.counted.get(attempt);
    if (last !== undefined && now - last < WINDOW_MS) return true;
    this.counted.delete(attempt);
    this.counted.set(attempt, now);
    if (this.counted.size > REMEMBERED) this.counted.delete(this.counted.keys().next().value!);
    return false;
  }
}
