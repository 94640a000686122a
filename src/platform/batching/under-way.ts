/** Counts what is under way in this process, by name. */
export class UnderWay {
  private readonly counts = new Map<string, number>();
  private all = 0;

  get total(): number {
    return this.all;
  }

  of(name: string): number {
    return this.counts.get(name) ?? 0;
  }

  /** Counts one more until the answer is called; that it is called again changes nothing. */
  begin(name: string): () => void {
    this.counts.set(name, this.of(name) + 1);
    this.all++;
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      const left = this.of(name) - 1;
      if (left > 0) this.counts.set(name, left);
      else this.counts.delete(name);
      this.all--;
    };
  }

  /** Counts the work until it ends, however it does. */
  async during<T>(name: string, work: () => Promise<T>): Promise<T> {
    const end = this.begin(name);
    try {
      return await work();
    } finally {
      end();
    }
  }
}
