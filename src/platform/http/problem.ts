import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorKind, FieldError } from '../errors/domain-error.js';
import { contextOf } from '../observability/request-context.js';
import { outlastBody } from './drain.js';

/** An answer that says what went wrong, as RFC 9457 shapes it. */
export interface Problem {
  status: number;
  code: string;
  detail: string;
  errors?: FieldError[];
  members?: Record<string, unknown>;
  headers?: Record<string, string>;
}

/** The status of each kind of error; a new kind does not compile until it has one. */
export const STATUS_OF: Record<ErrorKind, number> = {
  bad_request: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  precondition_failed: 412,
  too_large: 413,
  range_not_satisfiable: 416,
  unsupported_media_type: 415,
  unprocessable: 422,
  rate_limited: 429,
  unavailable: 503,
};

const TITLES: Record<number, string> = {
  400: 'Bad request',
  401: 'Authentication required',
  403: 'Forbidden',
  404: 'Not found',
  405: 'Method not allowed',
  409: 'Conflict',
  412: 'Precondition failed',
  413: 'Too large',
  415: 'Unsupported media type',
  416: 'Range not satisfiable',
  422: 'Refused',
  429: 'Too many requests',
  500: 'Internal error',
  503: 'Temporarily unavailable',
};

const MAX_INSTANCE = 512;

/** Writes the problem as the answer, whatever handled the request so far. */
export function sendProblem(request: IncomingMessage, response: ServerResponse, problem: Problem): void {
  if (response.headersSent) {
    // The answer is under way; cutting it off is the only way left to tell that it is not whole.
    response.destroy();
    return;
  }
  const body = Buffer.from(
    JSON.stringify({
      type: `urn:berth:problem:${problem.code}`,
      title: TITLES[problem.status] ?? 'Error',
      status: problem.status,
      code: problem.code,
      detail: problem.detail,
      instance: pathOf(request).slice(0, MAX_INSTANCE),
      requestId: contextOf(request)?.id,
      ...problem.members,
      ...(problem.errors ? { errors: problem.errors } : {}),
    }),
  );
  response.statusCode = problem.status;
  for (const name of ['Content-Encoding', 'Content-Disposition', 'ETag', 'Last-Modified', 'Link', 'Location']) {
    response.removeHeader(name);
  }
  if (problem.status === 401) response.setHeader('WWW-Authenticate', 'Bearer');
  for (const [name, value] of Object.entries(problem.headers ?? {})) response.setHeader(name, value);
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Content-Type', 'application/problem+json');
  response.setHeader('Content-Length', body.length);
  outlastBody(request, response);
  response.end(body);
}

/** The path that was asked for, without the query: that may hold what belongs into no answer and no log. */
export function pathOf(request: IncomingMessage & { originalUrl?: string }): string {
  const url = request.originalUrl ?? request.url ?? '';
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}
