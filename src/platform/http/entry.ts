import type { NextFunction, Request, RequestHandler, Response } from 'express';
import type { RequestLog } from '../observability/request-log.js';
import { newRequestId, runInContext } from '../observability/request-context.js';
import { digestBody, leaveUndigested } from './body-digest.js';
import type { ClientAddresses } from './client-address.js';
import { cutOffLateBody } from './drain.js';
import { IDEMPOTENCY_HEADER } from './idempotency.js';
import { sendProblem, type Problem } from './problem.js';
import type { RateLimiter } from './rate-limit.js';
import type { apiHeaders } from './security-headers.js';
import type { Shutdown } from './shutdown.js';

const SHUTTING_DOWN: Problem = {
  status: 503,
  code: 'shutting_down',
  detail: 'This process is about to end; another takes over.',
  headers: { 'Retry-After': '1' },
};

export interface EntryParts {
  addresses: ClientAddresses;
  limiter: RateLimiter;
  headers: ReturnType<typeof apiHeaders>;
  log: RequestLog;
  shutdown: Shutdown;
  /** Begins what a request will need while the limit is asked. It must not throw. */
  anticipate?: ((request: Request) => void) | undefined;
}

/**
 * The first thing every request meets, one middleware because each layer costs every request: it gets its id and context,
 * the headers all answers have, its line in the log, and is counted against the limit.
 */
export function entry({ addresses, limiter, headers, log, shutdown, anticipate }: EntryParts): RequestHandler {
  return (request: Request, response: Response, next: NextFunction) => {
    const context = { id: newRequestId(), address: addresses.of(request), startedAt: performance.now() };
    runInContext(request, context, () => {
      response.setHeader('X-Request-Id', context.id);
      response.setHeader('Cache-Control', 'no-store');
      if (request.method === 'POST' && request.headers[IDEMPOTENCY_HEADER] !== undefined) digestBody(request);
      response.once('close', () => {
        log.write(request, response, context);
        cutOffLateBody(request);
      });
      headers(request, response, () => undefined);
      if (shutdown.signal.aborted) {
        response.setHeader('Connection', 'close');
        sendProblem(request, response, SHUTTING_DOWN);
        return;
      }
      limiter.admit(request, response, anticipate && (() => anticipate(request))).then((admitted) => {
        if (admitted) next();
        else leaveUndigested(request);
      }, next);
    });
  };
}
