import {
  applyDecorators,
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  UseInterceptors,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { lastValueFrom, from, type Observable } from 'rxjs';
import { principalOf } from '../auth/principal.js';
import { badField } from '../errors/domain-error.js';
import { WakeUps, type WakeUp } from '../redis/wake-ups.js';
import { clientGone } from './client-gone.js';
import { ApiQuery } from './openapi-annotations.js';
import { Shutdown } from './shutdown.js';
import { WaitSlots } from './wait-slots.js';

const MAX_SECONDS = 60;
const DEFAULT_SECONDS = 30;
/** A change is told by a wake-up; these are for changes that nobody tells, and for when Redis is away. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 1000;

/**
 * For GET handlers whose answer has a `status`: `?waitFor=RUNNING&timeout=30` holds the answer back until the status is
 * one of those named (a comma list) or the time is up, and then tells the state as it is. It ends early when the client
 * goes away, the resource does, or the process is about to end, and at once when too many wait.
 */
export function Waitable(): MethodDecorator {
  return applyDecorators(
    UseInterceptors(WaitInterceptor),
    ApiQuery({
      name: 'waitFor',
      required: false,
      description: 'Hold the answer back until `status` is this, or one of these (comma list).',
      schema: { type: 'string', pattern: STATUSES.source },
      example: 'RUNNING',
    }),
    ApiQuery({
      name: 'timeout',
      required: false,
      description: 'Seconds to wait at most.',
      schema: { type: 'integer', minimum: 0, maximum: MAX_SECONDS, default: DEFAULT_SECONDS },
    }),
  );
}

const STATUSES = /^[A-Z_]{1,32}(,[A-Z_]{1,32}){0,9}$/;

@Injectable()
export class WaitInterceptor implements NestInterceptor {
  constructor(
    private readonly shutdown: Shutdown,
    private readonly wakeUps: WakeUps,
    private readonly slots: WaitSlots,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    const { query, params } = request;
    const { waitFor, timeout } = query;
    if (waitFor === undefined && timeout === undefined) return next.handle();
    const seconds = readTimeout(timeout);
    if (waitFor === undefined) return next.handle();
    const wanted = readStatuses(waitFor);
    const end = this.slots.begin(principalOf(request)?.accountId ?? '');
    if (!end) return next.handle();
    const wakeUp = this.wakeUps.listen(Object.values(params) as string[]);
    const ended = (): void => {
      wakeUp.close();
      end();
    };
    return from(this.wait(next, wanted, seconds, wakeUp, http.getResponse<Response>()).finally(ended));
  }

  private async wait(
    next: CallHandler,
    wanted: ReadonlySet<string>,
    seconds: number,
    wakeUp: WakeUp,
    response: Response,
  ): Promise<unknown> {
    const deadline = performance.now() + seconds * 1000;
    const ended = AbortSignal.any([clientGone(response), this.shutdown.signal]);
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 1.3, LONGEST_PAUSE_MS)) {
      const state: unknown = await lastValueFrom(next.handle());
      const remaining = deadline - performance.now();
      if (wanted.has(statusOf(state)) || remaining <= 0 || ended.aborted) return state;
      await wakeUp.wait(Math.min(pause, remaining), ended);
    }
  }
}

function readTimeout(timeout: unknown): number {
  if (timeout === undefined) return DEFAULT_SECONDS;
  if (typeof timeout === 'string' && /^\d{1,2}$/.test(timeout) && Number(timeout) <= MAX_SECONDS)
    return Number(timeout);
  throw badField('timeout', 'range', `timeout must be an integer from 0 to ${MAX_SECONDS}`, {
    min: 0,
    max: MAX_SECONDS,
  });
}

function readStatuses(waitFor: unknown): ReadonlySet<string> {
  if (typeof waitFor === 'string' && STATUSES.test(waitFor)) return new Set(waitFor.split(','));
  throw badField('waitFor', 'pattern', 'waitFor must be a status, or several separated by commas');
}

function statusOf(state: unknown): string {
  const status = (state as { status?: unknown } | null)?.status;
  return typeof status === 'string' ? status : '';
}
