/** After a failure, how long nobody is kept waiting for the next try. */
const TRY_AGAIN_MS = 1000;

/** Whether the control plane is away, and since when: clocks that are set do not matter. */
export class Outage {
  private since: number | null = null;
  private failedAt = -Infinity;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Milliseconds it has been away; 0 while it is not known to be. */
  get lasts(): number {
    return this.since === null ? 0 : this.now() - this.since;
  }

  get isOn(): boolean {
    return this.since !== null;
  }

  /** Whether to spare the try: it failed a moment ago. */
  get skips(): boolean {
    return this.since !== null && this.now() - this.failedAt < TRY_AGAIN_MS;
  }

  /** Whether this begins it. */
  failed(): boolean {
    this.failedAt = this.now();
    if (this.since !== null) return false;
    this.since = this.failedAt;
    return true;
  }

  /** Whether this ends it. */
  answered(): boolean {
    const was = this.since !== null;
    this.since = null;
    return was;
  }
}
