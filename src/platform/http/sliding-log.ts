/** Decision on one request of a sliding log. */
export interface Decision {
  accepted: boolean;
  /** Accepted requests in the window, this one included. */
  hits: number;
  /** Milliseconds until the oldest of them leaves the window (accepted) or until one more is accepted (refused). */
  waitMs: number;
}

/**
 * Exact sliding log in the memory of this process: of any window of `windowMs`, at most `limit` requests are accepted.
 * Refused ones leave no trace. The least recently seen keys are forgotten beyond `maxKeys`.
 */
export class LocalSlidingLog {
  private readonly logs = new Map<string, number[]>();
  /** Until when a log elsewhere, which knows more than this one, refuses a key. */
  private readonly refusedUntil = new Map<string, number>();

  constructor(
    private readonly maxKeys = 50_000,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Decides and, when it accepts, records. */
  hit(key: string, limit: number, windowMs: number): Decision {
    const decision = this.peek(key, limit, windowMs);
    if (decision.accepted) this.record(key, this.now(), limit);
    return decision;
  }

  /** Decides without recording. */
  peek(key: string, limit: number, windowMs: number): Decision {
    const now = this.now();
    const until = this.refusedUntil.get(key);
    if (until !== undefined) {
      if (now < until) return { accepted: false, hits: limit, waitMs: until - now };
      this.refusedUntil.delete(key);
    }
    const log = this.live(key, now - windowMs);
    if (!log) return { accepted: true, hits: 1, waitMs: windowMs };
    if (log.length < limit) return { accepted: true, hits: log.length + 1, waitMs: log[0]! + windowMs - now };
    return { accepted: false, hits: log.length, waitMs: log[log.length - limit]! + windowMs - now };
  }

  /** Records a request that was accepted elsewhere at the given moment of this log's clock. */
  record(key: string, at: number, limit: number): void {
    const log = this.logs.get(key) ?? [];
    // Answers may overtake each other; the log stays in order.
    let place = log.length;
    while (place > 0 && log[place - 1]! > at) place--;
    if (place === log.length) log.push(at);
    else log.splice(place, 0, at);
    if (log.length > limit) log.shift();
    this.keep(this.logs, key, log);
  }

  /** Notes that elsewhere none is accepted before the given moment of this log's clock. */
  refuse(key: string, until: number): void {
    this.keep(this.refusedUntil, key, until);
  }

  clock(): number {
    return this.now();
  }

  private keep<T>(map: Map<string, T>, key: string, value: T): void {
    map.delete(key);
    map.set(key, value);
    if (map.size > this.maxKeys) map.delete(map.keys().next().value!);
  }

  private live(key: string, horizon: number): number[] | undefined {
    const log = this.logs.get(key);
    if (!log) return undefined;
    let expired = 0;
    while (expired < log.length && log[expired]! <= horizon) expired++;
    if (expired > 0) log.splice(0, expired);
    if (log.length > 0) return log;
    this.logs.delete(key);
    return undefined;
  }
}
