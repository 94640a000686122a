import type { ServerResponse } from 'node:http';
import { DomainError } from '../errors/domain-error.js';
import { MemoryRoom } from './memory-room.js';

const MEBIBYTE = 1024 * 1024;
/** What all of them may weigh. */
const ROOM_BYTES = 128 * MEBIBYTE;
/** What one service may take of what is left. */
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
  private readonly room: MemoryRoom;

  constructor(private readonly limits: HeldAnswerLimits) {
    this.room = new MemoryRoom({ ofOne: { share: SHARE }, ofAll: limits.roomBytes ?? ROOM_BYTES });
  }

  /** Begins one more answer to a service. Throws where there is no room for it. */
  begin(service: string, response: ServerResponse): HeldAnswer {
    if (response.closed) throw new DomainError('bad_request', 'client_gone', 'The client went away.');
    const { leastBytes } = this.limits;
    const taken: (() => void)[] = [];
    const take = (bytes: number): void => void taken.push(this.room.take(service, bytes, tooMany));
    take(leastBytes);
    response.once('close', () => taken.forEach((give) => give()));
    let known = 0;
    const weigh = (bytes: number): void => {
      const more = known + bytes - Math.max(known, leastBytes);
      if (more > 0) take(more);
      known += bytes;
    };
    return { weigh, end: (body) => this.end(response, body) };
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

function tooMany(): DomainError {
  return new DomainError('rate_limited', 'too_many_outstanding', 'Too many requests at the same time.', {
    retryAfterSeconds: 1,
  });
}
