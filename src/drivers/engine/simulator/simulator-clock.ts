/** What the simulator measures time by. */
export interface SimulatorClock {
  now(): number;
  /** Runs `work` once after `ms`; answers how to call it off. */
  schedule(ms: number, work: () => void): () => void;
}

export class RealClock implements SimulatorClock {
  now(): number {
    return Date.now();
  }

  schedule(ms: number, work: () => void): () => void {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  }
}

/** Stands still until it is advanced; what becomes due meanwhile runs in order, at its own time. */
export class VirtualClock implements SimulatorClock {
  private time: number;
  private due: { at: number; work: () => void }[] = [];

  constructor(start = new Date('2030-01-01T00:00:00Z')) {
    this.time = start.getTime();
  }

  now(): number {
    return this.time;
  }

  schedule(ms: number, work: () => void): () => void {
    const entry = { at: this.time + ms, work };
    this.due.push(entry);
    return () => (this.due = this.due.filter((other) => other !== entry));
  }

  async advance(ms: number): Promise<void> {
    const until = this.time + ms;
    for (;;) {
      // Lets whoever waited for the last event set its next timer first.
      await new Promise((resolve) => setImmediate(resolve));
      const next = this.due.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.due = this.due.filter((other) => other !== next);
      this.time = Math.max(this.time, next.at);
      next.work();
    }
    this.time = until;
  }
}
