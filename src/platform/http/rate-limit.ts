import type { IncomingMessage, ServerResponse } from 'node:http';
import { applyDecorators, type ExecutionContext, Injectable, UseGuards } from '@nestjs/common';
import { Throttle, ThrottlerGuard, type ThrottlerLimitDetail } from '@nestjs/throttler';
import type { Request } from 'express';
import { principalOf } from '../auth/principal.js';
import { DomainError } from '../errors/domain-error.js';
import { addressBucket, clientAddress } from './client-address.js';
import { sendProblem } from './problem.js';
import { wholeSeconds, type SlidingLogStorage } from './rate-limit.storage.js';

const WINDOW_MS = 60_000;

/** Requests under a prefix share one budget per client address. */
export interface RateLimitZone {
  /** Names the budget; zones of one name share it. */
  name: string;
  /** Path without the slash at its end; everything below it belongs to the zone. */
  prefix: string;
  perMinute: number;
}

/**
 * The limit that stands before everything else, so that whatever is asked for and whoever asks counts: unknown paths, bad
 * keys, bodies of any size.
 */
export class RateLimiter {
  private readonly zones: (RateLimitZone & { policy: string; below: string })[];

  constructor(
    private readonly storage: SlidingLogStorage,
    zones: RateLimitZone[],
  ) {
    this.zones = zones.map((zone) => ({
      ...zone,
      prefix: zone.prefix.toLowerCase(),
      below: `${zone.prefix.toLowerCase()}/`,
      policy: `"${zone.name}";q=${zone.perMinute};w=${WINDOW_MS / 1000}`,
    }));
  }

  /**
   * Whether the request may go on; if not, it has been answered. While others are asked about one that will probably pass,
   * `meanwhile` may begin what the request needs: of those that are refused, one in each window and process costs that much.
   */
  async admit(
    request: IncomingMessage & { path: string },
    response: ServerResponse,
    meanwhile?: () => void,
  ): Promise<boolean> {
    // Express does not tell case apart in routes, so this must not either.
    const path = request.path.toLowerCase();
    const zone = this.zones.find(({ prefix, below }) => path.startsWith(below) || path === prefix);
    if (!zone) return true;
    const key = `rl:${zone.name}:${addressBucket(clientAddress(request))}`;
    const { accepted, hits, waitMs } = await this.storage.hit(key, zone.perMinute, WINDOW_MS, meanwhile);
    const seconds = wholeSeconds(waitMs);
    response.setHeader('RateLimit-Policy', zone.policy);
    if (accepted) {
      response.setHeader('RateLimit', `"${zone.name}";r=${Math.max(0, zone.perMinute - hits)};t=${seconds}`);
      return true;
    }
    response.setHeader('RateLimit', `"${zone.name}";r=0;t=${seconds}`);
    sendProblem(request, response, {
      status: 429,
      code: 'rate_limited',
      detail: `More than ${zone.perMinute} requests per minute; wait ${seconds} s.`,
      headers: { 'Retry-After': String(seconds) },
    });
    return false;
  }
}

/** A limit of a route's own, on top of the general one: per account where there is one, else per client address. */
export function RouteLimit(limit: number, seconds: number): MethodDecorator {
  return applyDecorators(
    Throttle({ default: { limit, ttl: seconds * 1000, blockDuration: 0 } }),
    UseGuards(RouteLimitGuard),
  );
}

/** The throttler's guard, counting in our log and answering in our words. */
@Injectable()
export class RouteLimitGuard extends ThrottlerGuard {
  protected override async getTracker(request: Request): Promise<string> {
    return principalOf(request)?.accountId ?? addressBucket(clientAddress(request));
  }

  protected override generateKey(context: ExecutionContext, tracker: string): string {
    return `rl:route:${context.getHandler().name}:${tracker}`;
  }

  /** The two headers of the general limit are enough; a second truth beside them would only confuse. */
  protected override setResponseHeader(): void {}

  protected override throwThrottlingException(_: ExecutionContext, detail: ThrottlerLimitDetail): Promise<void> {
    throw new DomainError(
      'rate_limited',
      'rate_limited',
      `Too many requests of this kind; wait ${detail.timeToBlockExpire} s.`,
      {
        retryAfterSeconds: detail.timeToBlockExpire,
      },
    );
  }
}
