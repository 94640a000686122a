/** Lets through `burst` at once, and from then on one in `everyMs`. */
export class TokenBucket {
  private tokens: number;
  private at: number;

  constructor(
    private readonly everyMs: number,
    private readonly burst: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.tokens = burst;
    this.at = now();
  }

  take(): boolean {
    const now = this.now();
    this.tokens = Math.min(this.burst, this.tokens + (now - this.at) / this.everyMs);
    this.at = now;
    if (this.tokens < 1) return false;
    this.tokens--;
    return true;
  }
}

/** What one client may send: of everything together, and of each event. */
export class ClientLimits {
  private readonly all: TokenBucket;
  private readonly byEvent = new Map<string, TokenBucket>();
  private told: string | null = null;

  constructor(private readonly now?: () => number) {
    this.all = new TokenBucket(200, 10, now);
  }

  /** What the client is to be told it was throttled by, once each time that begins; `false` where the frame counts. */
  refuses(event: string): { notice: string | null } | false {
    const cause = !this.all.take() ? 'global' : !this.bucket(event).take() ? event : null;
    if (cause === null) {
      this.told = null;
      return false;
    }
    const notice = this.told === cause ? null : cause;
    this.told = cause;
    return { notice };
  }

  private bucket(event: string): TokenBucket {
    // Events nobody knows share one: a client cannot have as many as it can think of names.
    const name = Object.hasOwn(PER_EVENT, event) ? event : '';
    let bucket = this.byEvent.get(name);
    if (!bucket) {
      const [everyMs, burst] = PER_EVENT[name] ?? OTHERS;
      this.byEvent.set(name, (bucket = new TokenBucket(everyMs, burst, this.now)));
    }
    return bucket;
  }
}

const OTHERS = [1000, 4] as const;
const PER_EVENT: Record<string, readonly [everyMs: number, burst: number]> = {
  auth: [5000, 2],
  'send logs': [5000, 2],
  'send command': [1000, 10],
  'send stats': OTHERS,
  'set state': OTHERS,
};
