import { DomainError } from '../../../platform/errors/domain-error.js';

/** Why a site cannot be scanned, in words that say nothing of what stands behind an address. */
const REASONS = {
  scheme_refused: 'Only http and https addresses can be scanned.',
  credentials_refused: 'The address must not hold a user name or a password.',
  port_refused: 'Only the ports 80 and 443 can be scanned.',
  address_too_long: 'The address leads to one that is too long.',
  address_refused: 'The address is not one of the public internet.',
  dns_failed: 'The host has no address that could be found.',
  connect_failed: 'The host does not take connections.',
  tls_error: 'No secure connection to the host is possible.',
  timeout: 'The site did not answer, or was not judged, in time.',
  bad_response: 'The site answered with something that is no HTTP.',
  too_many_redirects: 'The address leads from redirect to redirect.',
  not_html: 'The address leads to something that is no HTML page.',
  unreadable: 'The page is too hard to read.',
} as const;

export type ScanProblem = keyof typeof REASONS;

/** The 422 of a target that is refused or out of reach. */
export function scanProblem(code: ScanProblem, cause?: unknown): DomainError {
  return new DomainError('unprocessable', code, REASONS[code], { cause });
}
