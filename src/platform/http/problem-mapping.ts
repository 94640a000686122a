import { HttpException } from '@nestjs/common';
import { DomainError } from '../errors/domain-error.js';
import type { AppLogger } from '../observability/logger.js';
import { STATUS_OF, type Problem } from './problem.js';

/** What to answer for an error, and whether the error is news to the operator. */
export interface MappedError {
  problem: Problem;
  /** Set when the fault is ours or a backing part's. */
  report?: 'error' | 'warn';
}

/** Maps whatever was thrown to an answer. Text of errors that are not meant for callers never becomes part of it. */
export function mapError(error: unknown): MappedError {
  if (error instanceof DomainError) return fromDomainError(error);
  if (error instanceof HttpException && error.getStatus() < 500) return { problem: fromHttpException(error) };
  const part = lostPart(error);
  if (part) return fromDomainError(partUnavailable(part));
  if (databaseCode(error) === 'ER_DUP_ENTRY') {
    return {
      problem: { status: 409, code: 'already_exists', detail: 'A record with these values exists already.' },
      report: 'warn',
    };
  }
  if (CONTENTION.has(databaseCode(error) ?? '')) {
    return {
      ...fromDomainError(new DomainError('unavailable', 'busy', 'Try again in a moment.', { retryAfterSeconds: 1 })),
    };
  }
  if (error instanceof HttpException && error.getStatus() === 503) return fromDomainError(partUnavailable('service'));
  return {
    problem: { status: 500, code: 'internal_error', detail: 'Something went wrong on our side.' },
    report: 'error',
  };
}

/** What to answer for an error, which is put into the log where it is news to the operator. */
export function reportedProblem(error: unknown, log: AppLogger, route: string | undefined): Problem {
  const { problem, report } = mapError(error);
  if (report) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
    log[report]({ err: cause, code: problem.code, route }, 'Request failed');
  }
  return problem;
}

function fromDomainError(error: DomainError): MappedError {
  const { errors, members, retryAfterSeconds } = error.extra;
  const problem: Problem = { status: STATUS_OF[error.kind], code: error.code, detail: error.detail };
  if (errors) problem.errors = errors;
  if (members) problem.members = members;
  if (retryAfterSeconds !== undefined)
    problem.headers = { 'Retry-After': String(Math.max(1, Math.ceil(retryAfterSeconds))) };
  return error.kind === 'unavailable' ? { problem, report: 'warn' } : { problem };
}

const CODES: Record<number, [code: string, detail: string]> = {
  400: ['bad_request', 'The request is malformed.'],
  401: ['unauthenticated', 'Valid credentials are required.'],
  403: ['forbidden', 'This is not allowed.'],
  404: ['not_found', 'The resource does not exist.'],
  405: ['method_not_allowed', 'The resource does not know this method.'],
  413: ['body_too_large', 'The request body is too large.'],
  415: ['unsupported_media_type', 'The media type of the request body is not supported here.'],
  429: ['rate_limited', 'Too many requests.'],
};

/** Nest and Express throw these; their messages repeat the request and add nothing that the code does not say. */
function fromHttpException(error: HttpException): Problem {
  const status = error.getStatus();
  const [code, detail] = CODES[status] ?? ['bad_request', 'The request was refused.'];
  return { status: status in CODES ? status : 400, code, detail };
}

function partUnavailable(part: string): DomainError {
  return new DomainError('unavailable', `${part}_unavailable`, `The ${part} is not available at the moment.`, {
    retryAfterSeconds: 5,
  });
}

const CONTENTION = new Set(['ER_LOCK_DEADLOCK', 'ER_LOCK_WAIT_TIMEOUT', 'ER_CHECKREAD']);

const CONNECTION_LOST = new Set([
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_ENQUEUE_AFTER_FATAL_ERROR',
  'PROTOCOL_SEQUENCE_TIMEOUT',
  'POOL_CLOSED',
  'POOL_NONEONLINE',
  'ER_SERVER_SHUTDOWN',
  'ER_NORMAL_SHUTDOWN',
  'ER_CON_COUNT_ERROR',
  'ER_TOO_MANY_USER_CONNECTIONS',
  'ER_CONNECTION_KILLED',
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
]);

interface DriverError {
  name?: string;
  code?: string;
  message?: string;
  fatal?: boolean;
  driverError?: DriverError;
}

/** Code of an error of the database driver, whether TypeORM wrapped it or not. */
function databaseCode(error: unknown): string | undefined {
  const { driverError } = (error ?? {}) as DriverError;
  return driverError?.code;
}

/** Which of the platform's own backing parts an error says is away, if it says so. */
function lostPart(error: unknown): 'database' | 'queue' | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const outer: DriverError = error;
  const { name, code, message, fatal, driverError } = outer;
  if (driverError ? CONNECTION_LOST.has(driverError.code ?? '') : fatal === true && CONNECTION_LOST.has(code ?? '')) {
    return 'database';
  }
  if ((driverError ?? outer).message === 'Pool is closed.') return 'database';
  if (name === 'MaxRetriesPerRequestError' || name === 'ReplyError') return 'queue';
  if (message === 'Connection is closed.' || message === 'Command timed out') return 'queue';
  if (message?.startsWith("Stream isn't writeable")) return 'queue';
  return undefined;
}
