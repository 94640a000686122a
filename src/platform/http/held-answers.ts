import type { ServerResponse } from 'node:http';
import { DomainError } from '../errors/domain-error.js';

const MEBIBYTE = 1024 * 1024;
/** What all of them may weigh. */
const ROOM_BYTES = 128 * MEBIBYTE;
/** Of the room that is left, what one service may take: however many fill theirs, there is some for the next. */
const SHARE = 1 / 8;

export interface HeldAnswerLimits {
  /** What each weighs at least, from before it is known: that bounds how many one service may wait for. */
  leastBytes: number;
  /** How long a client may take for all of its answer: one that takes a little now and then is never silent. */
  withinMs: number;
  roomBytes?: number;
}

/** An answer on its way; it weighs until its response closes. */
export interface HeldAnswer {
  /** So many more bytes of it are in memory. Throws where there is no room for them. */
  weigh(bytes: number): void;
  /** The last word of the response. A client that does not take it in time is cut off. */
  end(body: Buffer | undefined): void;
}

/**
 * Answers that are whole in memory until their clients have taken them. A client that reads nothing holds its own for as
 * long as it is let, and no limit of requests per minute bounds how much that is together.
 */
export class HeldAnswers {
  private readonly owns = new Map<string, number>();
  private all = 0;

  constructor(private readonly limits: HeldAnswerLimits) {}

  /** Begins one more answer to a service. Throws where there is no room for it. */
  begin(service: string, response: ServerResponse): HeldAnswer {
    if (response.closed) throw new DomainError('bad_request', 'client_gone', 'The client went away.');
    const { leastBytes } = this.limits;
    let known = 0;
    this.take(service, leastBytes);
    response.once('close', () => this.leave(service, Math.max(known, leastBytes)));
    const weigh = (bytes: number): void => {
      const more = known + bytes - Math.max(known, leastBytes);
      if (more > 0) this.take(service, more);
      known += bytes;
    };
    return { weigh, end: (body) => this.end(response, body) };
  }

  private take(service: string, bytes: number): void {
    const own = (this.owns.get(service) ?? 0) + bytes;
    const { roomBytes = ROOM_BYTES } = this.limits;
    if (own > (roomBytes - this.all) * SHARE) {
      throw new DomainError('rate_limited', 'too_many_outstanding', 'Too many requests at the same time.', {
        retryAfterSeconds: 1,
      });
    }
    this.owns.set(service, own);
    this.all += bytes;
  }

  private leave(service: string, weight: number): void {
    const left = this.owns.get(service)! - weight;
    if (left > 0) this.owns.set(service, left);
    else this.owns.delete(service);
    this.all -= weight;
  }

  private end(response: ServerResponse, body: Buffer | undefined): void {
    response.end(body);
    // The kernel has all of it, as it nearly always has.
    if (response.writableLength === 0) return;
    // An answer that waits for those before it has no connection of its own yet.
    const cut = setTimeout(() => response.req.socket.destroy(), this.limits.withinMs);
    response.once('close', () => clearTimeout(cut));
  }
}
