/** What went wrong, in terms of the caller. The HTTP status of each kind stands in `platform/http/problem.filter.ts`. */
export type ErrorKind =
  | 'bad_request'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'precondition_failed'
  | 'too_large'
  | 'range_not_satisfiable'
  | 'unsupported_media_type'
  | 'unprocessable'
  | 'rate_limited'
  | 'unavailable';

export interface FieldError {
  field: string;
  /** JSON pointer (RFC 6901) to the faulty value. */
  pointer: string;
  code: string;
  detail: string;
  meta?: Record<string, unknown>;
}

export interface DomainErrorExtra {
  errors?: FieldError[];
  /** Further members of the problem body (RFC 9457 section 3.2). */
  members?: Record<string, unknown>;
  retryAfterSeconds?: number;
  cause?: unknown;
}

/**
 * An error that is an answer: `code` is the stable machine word, `detail` is read by the caller. Neither may name
 * anything of the platform's inside (SQL, host paths, engine messages); those belong into `extra.cause`, which is logged.
 */
export class DomainError extends Error {
  constructor(
    readonly kind: ErrorKind,
    readonly code: string,
    readonly detail: string,
    readonly extra: DomainErrorExtra = {},
  ) {
    super(detail, { cause: extra.cause });
    this.name = 'DomainError';
  }
}

/** The one 404: missing and foreign resources are not told apart. */
export function notFound(): DomainError {
  return new DomainError('not_found', 'not_found', 'The resource does not exist.');
}

export function badField(field: string, code: string, detail: string, meta?: Record<string, unknown>): DomainError {
  return new DomainError('bad_request', 'validation_failed', detail, {
    errors: [{ field, pointer: `/${field}`, code, detail, ...(meta ? { meta } : {}) }],
  });
}

export function conflict(code: string, detail: string, members: Record<string, unknown> = {}): DomainError {
  return new DomainError('conflict', code, detail, { members });
}

/** An action the resource's present status does not allow. */
export function stateConflict(action: string, currentStatus: string): DomainError {
  return conflict('state_conflict', `${action} is not possible while the status is ${currentStatus}.`, {
    currentStatus,
  });
}

export interface ExceededLimit {
  name: string;
  allowed: number;
  used: number;
  requested: number;
}

export function quotaExceeded(limit: ExceededLimit): DomainError {
  return new DomainError(
    'forbidden',
    'quota_exceeded',
    `The plan allows ${limit.allowed} (${limit.name}); ${limit.used} in use, ${limit.requested} requested.`,
    { members: { limit } },
  );
}

/** A backing part (engine, database host, object store, ...) is away: 503 with Retry-After. */
export function unavailable(part: string, cause?: unknown, retryAfterSeconds = 5): DomainError {
  return new DomainError('unavailable', `${part}_unavailable`, `The ${part} is not available at the moment.`, {
    retryAfterSeconds,
    cause,
  });
}
