const WINDOW_MS = 60_000;

/** How many schedules of one account may start within any minute, in one worker. Times are in milliseconds. */
export class StartBudget {
  /** Of each account the newest starts, oldest first. */
  private readonly starts = new Map<string, number[]>();

  constructor(private readonly perMinute: number) {}

  /** False when the account has had its share; it is then not counted. */
  take(accountId: string, now: number): boolean {
    const recent = this.recent(accountId, now);
    if (recent.length >= this.perMinute) return false;
    this.starts.set(accountId, [...recent, now]);
    return true;
  }

  /** Who has had its share. Forgets whom there is nothing to know of any more. */
  spent(now: number): string[] {
    const spent: string[] = [];
    for (const accountId of [...this.starts.keys()]) {
      const recent = this.recent(accountId, now);
      if (recent.length === 0) this.starts.delete(accountId);
      else if (recent.length >= this.perMinute) spent.push(accountId);
    }
    return spent;
  }

  private recent(accountId: string, now: number): number[] {
    return (this.starts.get(accountId) ?? []).filter((at) => at > now - WINDOW_MS);
  }
}
