import { createHash } from 'node:crypto';
import { applyDecorators, Injectable, SetMetadata } from '@nestjs/common';
import type { Request, Response } from 'express';
import { DomainError, conflict } from '../errors/domain-error.js';
import { AppLogger } from '../observability/logger.js';
import { contextOf } from '../observability/request-context.js';
import { bodyDigest } from './body-digest.js';
import { IdempotencyStore, type Claim, type Holder, type StoredAnswer } from './idempotency.store.js';
import { ApiExtension } from './openapi-annotations.js';

export const NOT_IDEMPOTENT = 'berth:not-idempotent';
export const IDEMPOTENCY_HEADER = 'idempotency-key';

/** For POSTs whose answer holds a clear token or key: it must be kept nowhere, so `Idempotency-Key` is not looked at. */
export function NotIdempotent(): MethodDecorator {
  return applyDecorators(SetMetadata(NOT_IDEMPOTENT, true), ApiExtension('x-not-idempotent', true));
}

const KEY = /^[\x21-\x7e]{1,255}$/;

/** Runs a POST once per `Idempotency-Key` and account; whoever repeats it gets the first one's answer for a day. */
@Injectable()
export class Idempotency {
  constructor(
    private readonly store: IdempotencyStore,
    private readonly log: AppLogger,
  ) {}

  /**
   * `handle` does the request. For a streamed body `drain` reads what is left of it: only then it is known whether the
   * body is the one the kept answer belongs to.
   */
  async run(
    request: Request,
    response: Response,
    accountId: string,
    handle: () => Promise<unknown>,
    drain?: () => Promise<void>,
  ): Promise<unknown> {
    const claim: Claim = {
      accountId,
      key: readKey(request),
      owner: contextOf(request)!.id,
      routeHash: createHash('sha256').update(`${request.method} ${request.originalUrl}`).digest('hex'),
      bodyHash: drain ? null : bodyDigest(request),
    };
    const holder = await this.store.claim(claim);
    if (holder) return this.replay(claim, holder, request, response, drain);
    return this.execute(claim, request, response, handle);
  }

  private async execute(
    claim: Claim,
    request: Request,
    response: Response,
    handle: () => Promise<unknown>,
  ): Promise<unknown> {
    let result: unknown;
    try {
      result = await handle();
    } catch (error) {
      // What broke unforeseen behind a commit says nothing of the change itself: it must not be made a second time.
      if (contextOf(request)!.changed && !(error instanceof DomainError)) this.store.abandon(claim);
      else await this.release(claim);
      throw error;
    }
    if (response.statusCode < 200 || response.statusCode > 299) {
      await this.release(claim);
      return result;
    }
    claim.bodyHash ??= bodyDigest(request);
    try {
      await this.store.complete(claim, answerOf(response, result));
    } catch (error) {
      // The effect is there, so the caller must learn of it. A repetition is told that the outcome is unknown.
      this.store.abandon(claim);
      this.log.error({ err: error }, 'Answer could not be kept for its idempotency key');
    }
    return result;
  }

  private async replay(
    claim: Claim,
    holder: Holder,
    request: Request,
    response: Response,
    drain: (() => Promise<void>) | undefined,
  ): Promise<unknown> {
    if (holder.routeHash !== claim.routeHash) throw reused();
    if (claim.bodyHash !== null && holder.bodyHash !== null && holder.bodyHash !== claim.bodyHash) throw reused();
    if (holder.state === 'RUNNING') {
      throw holder.alive
        ? conflict('idempotency_in_progress', 'A request with this Idempotency-Key is still being handled.')
        : conflict(
            'idempotency_outcome_unknown',
            'The request with this Idempotency-Key was interrupted; look at what it was to change.',
          );
    }
    if (drain) {
      await drain();
      if (bodyDigest(request) !== holder.bodyHash) throw reused();
    }
    if (!holder.answer) {
      throw conflict(
        'idempotency_answer_not_kept',
        'The request was carried out, but its answer was too large to keep.',
      );
    }
    response.status(holder.answer.status).setHeader('Idempotency-Replayed', 'true');
    if (holder.answer.location) response.setHeader('Location', holder.answer.location);
    return holder.answer.body === null ? undefined : (JSON.parse(holder.answer.body) as unknown);
  }

  /** The error that freed the key is the one to tell; a key that could not be freed stays in doubt. */
  private async release(claim: Claim): Promise<void> {
    try {
      await this.store.release(claim);
    } catch (error) {
      this.log.warn({ err: error }, 'Idempotency key could not be freed');
    }
  }
}

function readKey(request: Request): string {
  const key = request.headers[IDEMPOTENCY_HEADER];
  if (typeof key === 'string' && KEY.test(key)) return key;
  throw new DomainError(
    'bad_request',
    'invalid_idempotency_key',
    'Idempotency-Key must be 1 to 255 visible ASCII characters.',
  );
}

function reused(): DomainError {
  return new DomainError(
    'unprocessable',
    'idempotency_key_reused',
    'This Idempotency-Key was used for another request.',
  );
}

function answerOf(response: Response, result: unknown): StoredAnswer {
  const body = result === undefined || result === null ? undefined : JSON.stringify(result);
  const location = response.getHeader('Location');
  return { status: response.statusCode, body: body ?? null, location: typeof location === 'string' ? location : null };
}
