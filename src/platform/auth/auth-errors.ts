import { DomainError } from '../errors/domain-error.js';

/** The one 401 of the public surface: absent, malformed, unknown, revoked and expired keys are not told apart. */
export function keyRefused(): DomainError {
  return new DomainError('unauthenticated', 'unauthenticated', 'A valid API key is required.');
}

/** The one 401 of the panel surface. */
export function sessionRequired(): DomainError {
  return new DomainError('unauthenticated', 'unauthenticated', 'Sign in first.');
}

export function scopeMissing(scope: string): DomainError {
  return new DomainError('forbidden', 'scope_missing', `This API key lacks the scope "${scope}".`, {
    members: { requiredScope: scope },
  });
}
