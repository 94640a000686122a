import type { ServerResponse } from 'node:http';
import { DomainError } from '../errors/domain-error.js';

/** Aborted when the client goes away before it has its answer. */
export function clientGone(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  // Nobody is sent it.
  const leave = (): void =>
    gone.abort(new DomainError('bad_request', 'client_gone', 'The client went away before its answer was ready.'));
  if (response.closed) leave();
  else response.once('close', () => !response.writableFinished && leave());
  return gone.signal;
}
