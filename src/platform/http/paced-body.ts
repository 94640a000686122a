import type { IncomingMessage } from 'node:http';
import { DomainError } from '../errors/domain-error.js';
import { bodyTooLarge } from './body.js';
import { bytesPass } from './passing-bytes.js';

const LIMIT = Symbol('berth:body-limit');

type Limited = IncomingMessage & { [LIMIT]?: number };

export interface Pace {
  /** How long nothing may come. */
  idleMs: number;
  /** What has to come on average, once we have waited for `idleMs` in all. */
  bytesPerSecond: number;
}

/** What a body of any size has to keep to, as no time is set for all of it. */
export const UPLOAD_PACE: Pace = { idleMs: 30_000, bytesPerSecond: 1024 };

/** Refuses a body that is announced as larger, and has `pacedBody` refuse one that turns out to be. */
export function limitBody(request: IncomingMessage, limit: number): void {
  if (Number(request.headers['content-length'] ?? 0) > limit) throw bodyTooLarge(limit);
  (request as Limited)[LIMIT] = limit;
}

/**
 * A body as it arrives, for `@StreamBody` routes. A client that sends too slowly is cut off; how long whoever takes the body
 * in needs for it does not count. Ending early leaves the request as it is, so that it can be answered.
 */
export async function* pacedBody(request: IncomingMessage, pace = UPLOAD_PACE): AsyncGenerator<Buffer> {
  const chunks = request.iterator({ destroyOnReturn: false });
  const limit = (request as Limited)[LIMIT] ?? Infinity;
  const tooSlow = (): void => void request.destroy(new Error('the client sends nothing'));
  let [waitedMs, bytes] = [0, 0];
  for (;;) {
    const timer = setTimeout(tooSlow, pace.idleMs);
    const from = performance.now();
    let next: IteratorResult<Buffer>;
    try {
      next = (await chunks.next()) as IteratorResult<Buffer>;
    } catch (error) {
      throw new DomainError('bad_request', 'body_incomplete', 'The request body ended before it was complete.', {
        cause: error,
      });
    } finally {
      clearTimeout(timer);
    }
    if (next.done) return;
    waitedMs += performance.now() - from;
    bytes += next.value.length;
    if (bytes > limit) throw bodyTooLarge(limit);
    bytesPass(next.value.length);
    if (waitedMs > pace.idleMs && bytes < (waitedMs / 1000) * pace.bytesPerSecond) tooSlow();
    yield next.value;
  }
}

/** Reads such a body to its end and drops it. */
export async function drainBody(request: IncomingMessage, pace = UPLOAD_PACE): Promise<void> {
  const chunks = pacedBody(request, pace);
  while (!(await chunks.next()).done);
}
