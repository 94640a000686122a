const WINDOW_MS = 100;
const LINES = 2000;

/** At most so many lines in any tenth of a second; what is beyond is dropped, and told once each time that begins. */
export class OutputThrottle {
  private windowFrom = 0;
  private count = 0;
  private told = false;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** How many of these lines may pass, and whether the watchers are to be told that some do not. */
  pass(lines: number): { allowed: number; notice: boolean } {
    const now = this.now();
    if (now - this.windowFrom >= WINDOW_MS) {
      if (this.count <= LINES || now - this.windowFrom >= 2 * WINDOW_MS) this.told = false;
      this.windowFrom = now;
      this.count = 0;
    }
    const allowed = Math.max(0, Math.min(lines, LINES - this.count));
    this.count += lines;
    const notice = allowed < lines && !this.told;
    if (notice) this.told = true;
    return { allowed, notice };
  }
}
