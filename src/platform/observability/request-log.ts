import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Histogram } from 'prom-client';
import type { AppLogger } from './logger.js';
import type { Metrics } from './metrics.js';
import type { RequestContext } from './request-context.js';

type RoutedRequest = IncomingMessage & {
  originalUrl: string;
  route?: { path?: unknown };
  user?: { accountId?: string; keyId?: string | null };
};

const MAX_PATH = 256;
/** The client went away before the answer was out; not a status anybody was sent. */
const CLIENT_GONE = 499;

/** One line and one observation per request. Neither has the query, a header or a body: any of them may hold a secret. */
export class RequestLog {
  private readonly durations: Histogram<'method' | 'route' | 'status'>;
  private readonly log: AppLogger;

  constructor(log: AppLogger, metrics: Metrics) {
    this.log = log.child({ part: 'http' });
    this.durations = metrics.histogram(
      'berth_http_request_duration_seconds',
      'Time from the arrival of a request to the end of its answer, by route',
      ['method', 'route', 'status'],
      { buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] },
    );
  }

  write(request: RoutedRequest, response: ServerResponse, context: RequestContext): void {
    const seconds = (performance.now() - context.startedAt) / 1000;
    const status = response.writableFinished ? response.statusCode : CLIENT_GONE;
    const route = typeof request.route?.path === 'string' ? request.route.path : undefined;
    const method = request.method ?? '';
    this.durations.observe({ method: METHODS.has(method) ? method : 'other', route: route ?? 'none', status }, seconds);
    if (!this.log.isEnabled('info')) return;
    const { user } = request;
    this.log.fixed(
      {
        requestId: context.id,
        method,
        route,
        path: route?.includes(':') || !route ? path(request.originalUrl) : undefined,
        status,
        ms: Math.round(seconds * 1e5) / 100,
        address: context.address,
        accountId: user?.accountId,
        keyId: user?.keyId ?? undefined,
      },
      'request',
    );
  }
}

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

function path(url: string): string {
  const end = url.indexOf('?');
  return (end === -1 ? url : url.slice(0, end)).slice(0, MAX_PATH);
}
