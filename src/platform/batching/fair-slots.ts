/**
 * A few pieces of work at once, and one at a time of each name. Names take turns: whoever brings much waits behind himself, and
 * others beside him.
 */
export class FairSlots {
  private readonly busy = new Set<string>();
  /** What begins the work of each name, those first whose turn comes first. */
  private readonly waiting = new Map<string, Set<() => void>>();

  constructor(private readonly slots: number) {}

  /** Work that has not begun when the signal is aborted never does; work that has is to heed the signal itself. */
  async run<T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.turnOf(name, signal);
    try {
      return await work();
    } finally {
      this.busy.delete(name);
      this.moveBack(name);
      this.goOn();
    }
  }

  private turnOf(name: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const queue = this.waiting.get(name) ?? new Set();
      const begin = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        queue.delete(begin);
        if (queue.size === 0) this.waiting.delete(name);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.waiting.set(name, queue.add(begin));
      this.goOn();
    });
  }

  /** Whoever has had a turn comes after all others. */
  private moveBack(name: string): void {
    const queue = this.waiting.get(name);
    if (!queue) return;
    this.waiting.delete(name);
    this.waiting.set(name, queue);
  }

  private goOn(): void {
    for (const [name, queue] of this.waiting) {
      if (this.busy.size === this.slots) return;
      if (this.busy.has(name)) continue;
      const [begin] = queue;
      queue.delete(begin!);
      if (queue.size === 0) this.waiting.delete(name);
      this.busy.add(name);
      begin!();
    }
  }
}
