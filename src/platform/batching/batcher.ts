export interface BatchLimits {
  /** Items of one batch at most. */
  items: number;
  /** Batches under way at once at most; what comes meanwhile waits and makes the next one. */
  atOnce: number;
}

interface Waiting<I, O> {
  item: I;
  resolve: (answer: O) => void;
  reject: (error: unknown) => void;
}

/**
 * Does in one go what is asked for at the same moment. A batch starts after its items came, so that what it finds is never
 * older than the question. The work answers in the order of the items.
 */
export class Batcher<I, O> {
  private waiting: Waiting<I, O>[] = [];
  private running = 0;
  private scheduled = false;

  constructor(
    private readonly work: (items: I[]) => Promise<O[]>,
    private readonly limits: BatchLimits,
  ) {}

  add(item: I): Promise<O> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      this.schedule();
    });
  }

  /** Resolves when nothing is under way or waits. */
  async idle(): Promise<void> {
    while (this.running > 0 || this.waiting.length > 0) await new Promise((resolve) => setImmediate(resolve));
  }

  private schedule(): void {
    if (this.scheduled || this.waiting.length === 0 || this.running >= this.limits.atOnce) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      if (this.waiting.length > 0 && this.running < this.limits.atOnce) void this.run();
    });
  }

  private async run(): Promise<void> {
    const batch = this.waiting.splice(0, this.limits.items);
    this.running++;
    this.schedule();
    try {
      const answers = await this.work(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, index) => resolve(answers[index]!));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      this.running--;
      this.schedule();
    }
  }
}
