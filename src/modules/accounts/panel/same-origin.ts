import { DomainError } from '../../../platform/errors/domain-error.js';

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses state-changing requests that another site could have made a browser send: they carry `X-Panel: 1`, which no
 * form can, and come from the panel's own origin by `Sec-Fetch-Site`, or, from browsers that do not send it, by `Origin`.
 */
export function requireSameOrigin(
  request: { method?: string; headers: Record<string, string | string[] | undefined> },
  panelOrigin: string,
): void {
  if (SAFE.has(request.method ?? '')) return;
  const { 'x-panel': panel, 'sec-fetch-site': site, origin } = request.headers;
  const sameOrigin = site !== undefined ? site === 'same-origin' : origin === panelOrigin;
  if (panel === '1' && sameOrigin) return;
  throw new DomainError('forbidden', 'csrf_refused', 'The request does not come from the panel.');
}
