import { truncate } from '../../../platform/text/truncate.js';
import { EngineError, type EngineErrorCode } from '../engine.js';

const BY_STATUS: Record<number, EngineErrorCode> = {
  503: 'unavailable',
  400: 'invalid',
  404: 'not_found',
  409: 'conflict',
  412: 'conflict',
};

const MISSING = /\b(instance|container|image|alias|volume|network|pool|project|operation|certificate)\b[^:]*not found/i;

const MAX_MESSAGE = 500;

/** Engine messages quote the configuration line they stumbled over, and that may hold a tenant's value. */
function withoutValues(message: string): string {
  const start = truncate(message, 4 * MAX_MESSAGE);
  return truncate(start.replace(/(environment[^=]*=).*/is, '$1[hidden]'), MAX_MESSAGE);
}

/** Turns what the engine answered into an error of the port; `status` is 0 for what failed in the background. */
export function lxdError(status: number, message: string, what: string): EngineError {
  return new EngineError(codeOf(status, message), `${what}: ${withoutValues(message)}`);
}

function codeOf(status: number, message: string): EngineErrorCode {
  if (/already exists|already defined/i.test(message)) return 'exists';
  // It still answers, and does nothing any more.
  if (/is shutting down/i.test(message)) return 'unavailable';
  if (/address already in use/i.test(message)) return 'conflict';
  if (status !== 500 && MISSING.test(message)) return 'not_found';
  if (/deadline exceeded|timed? ?out|status is "?running/i.test(message)) return 'timeout';
  return BY_STATUS[status] ?? 'failed';
}
