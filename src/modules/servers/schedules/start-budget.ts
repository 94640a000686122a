import { LocalSlidingLog } from '../../../platform/http/sliding-log.js';

const WINDOW_MS = 60_000;

/** How many schedules of one account may start within any minute, in one worker. */
export class StartBudget {
  private readonly starts: LocalSlidingLog;
  /** Who has had its share, and until when, by the clock of the log. */
  private readonly spentUntil = new Map<string, number>();

  constructor(
    private readonly perMinute: number,
    now?: () => number,
  ) {
    this.starts = new LocalSlidingLog(undefined, now);
  }

  /** False when the account has had its share; it is then not counted. */
  take(accountId: string): boolean {
    const { accepted, hits, waitMs } = this.starts.hit(accountId, this.perMinute, WINDOW_MS);
    if (hits >= this.perMinute) this.spentUntil.set(accountId, this.starts.clock() + waitMs);
    return accepted;
  }

  /** Who has had its share. */
  spent(): string[] {
    const now = this.starts.clock();
    for (const [accountId, until] of this.spentUntil) if (until <= now) this.spentUntil.delete(accountId);
    return [...this.spentUntil.keys()];
  }
}
