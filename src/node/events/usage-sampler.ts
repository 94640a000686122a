import type { Engine } from '../../drivers/engine/engine.js';

/** A program's consumption at some moment. */
export interface UsageSample {
  at: Date;
  memoryBytes: number;
  /** Of one core; null for the first reading of a program. */
  cpuPercent: number | null;
}

interface Reading extends UsageSample {
  cpuNanoseconds: number;
  startedAt: number | null;
}

/** Each program is looked at so often, as long as the pauses between two looks do not get shorter than the other. */
const ROUND_MS = 15_000;
const SHORTEST_PAUSE_MS = 250;

/**
 * Remembers what the programs of this node consumed of late, so that a crash can be told with its prelude. Programs are read
 * one after the other with a pause: the engine has better things to do, however many there are.
 */
export class UsageSampler {
  private readonly samples = new Map<string, Reading>();
  private names: string[] = [];
  private next = 0;
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;

  constructor(private readonly engine: Engine) {}

  start(): void {
    this.schedule();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  /** The programs that run now. What is known of one that ended is kept until it is seen running no more. */
  follow(running: string[]): void {
    const wanted = new Set(running);
    for (const name of this.samples.keys())
      if (!wanted.has(name) && !this.names.includes(name)) this.samples.delete(name);
    this.names = running;
  }

  last(name: string): UsageSample | null {
    const sample = this.samples.get(name);
    return sample ? { at: sample.at, memoryBytes: sample.memoryBytes, cpuPercent: sample.cpuPercent } : null;
  }

  private schedule(): void {
    if (this.stopped) return;
    const pause = Math.max(SHORTEST_PAUSE_MS, ROUND_MS / Math.max(1, this.names.length));
    this.timer = setTimeout(() => void this.sampleNext().finally(() => this.schedule()), pause);
  }

  private async sampleNext(): Promise<void> {
    const name = this.names[this.next++ % Math.max(1, this.names.length)];
    if (name === undefined) return;
    try {
      await this.sample(name);
    } catch {
      // It ended, or the engine is away, which the reports tell; the sample before stays.
    }
  }

  async sample(name: string): Promise<void> {
    const { state, memoryBytes, cpuNanoseconds, startedAt } = await this.engine.instanceUsage(name);
    if (state !== 'running') return;
    const now = { at: new Date(), memoryBytes, cpuNanoseconds, startedAt: startedAt?.getTime() ?? null };
    this.samples.set(name, { ...now, cpuPercent: percentSince(this.samples.get(name), now) });
  }
}

function percentSince(before: Reading | undefined, now: Omit<Reading, 'cpuPercent'>): number | null {
  if (!before || before.startedAt !== now.startedAt) return null;
  const elapsed = (now.at.getTime() - before.at.getTime()) * 1e6;
  const used = now.cpuNanoseconds - before.cpuNanoseconds;
  return elapsed > 0 && used >= 0 ? Math.round((used / elapsed) * 1000) / 10 : null;
}
