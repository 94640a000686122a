/** A backing part and how to ask whether it answers. */
export interface HealthCheck {
  /** Shown to whoever asks, so a plain word: `database`, `queue`, `engine`. */
  name: string;
  /** Resolves when the part answers, throws when not. */
  check(): Promise<unknown>;
  /** Whether the process is of no use without it: `ready` then answers 503. */
  critical: boolean;
}

export interface PartHealth {
  name: string;
  ok: boolean;
  critical: boolean;
  ms: number;
}

export interface HealthReport {
  ok: boolean;
  parts: PartHealth[];
}

const DEADLINE_MS = 2000;
const FRESH_MS = 1000;

/** Asks all parts at once, each with a deadline. The answer is kept for a second, so that probes cost nothing. */
export class Health {
  private readonly checks = new Map<string, HealthCheck>();
  private last: { at: number; report: Promise<HealthReport> } | undefined;

  /** Returns what takes the check away again. A later check of the same name takes the place of an earlier one. */
  register(check: HealthCheck): () => void {
    this.checks.set(check.name, check);
    this.last = undefined;
    return () => {
      if (this.checks.get(check.name) === check) this.checks.delete(check.name);
    };
  }

  async report(): Promise<HealthReport> {
    const now = performance.now();
    if (!this.last || now - this.last.at > FRESH_MS) this.last = { at: now, report: this.ask() };
    return this.last.report;
  }

  private async ask(): Promise<HealthReport> {
    const parts = await Promise.all([...this.checks.values()].map(ask));
    return { ok: parts.every((part) => part.ok || !part.critical), parts };
  }
}

async function ask(part: HealthCheck): Promise<PartHealth> {
  const started = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('deadline')), DEADLINE_MS);
  });
  let ok = true;
  try {
    await Promise.race([Promise.resolve().then(() => part.check()), deadline]);
  } catch {
    ok = false;
  }
  clearTimeout(timer);
  return { name: part.name, ok, critical: part.critical, ms: Math.round(performance.now() - started) };
}

/** One per process, as the parts behind it are. */
export const health = new Health();
