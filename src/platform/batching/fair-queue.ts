/** One piece of work at a time; whose turn it is goes round among the names in which work is waiting. */
export class FairQueue {
  /** By name, in the order of their turns; a name that nothing waits for is not in it. */
  private readonly lines = new Map<string, (() => void)[]>();
  private isBusy = false;

  /** Throws the reason of a signal that is aborted before the work begins. */
  async take<T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (this.isBusy) await this.turnOf(name, signal);
    this.isBusy = true;
    try {
      return await work();
    } finally {
      this.isBusy = false;
      this.callNext();
    }
  }

  private async turnOf(name: string, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.lines.set(name, [...(this.lines.get(name) ?? []), resolve]);
    const leave = (): void => {
      this.keep(
        name,
        this.lines.get(name)?.filter((other) => other !== resolve),
      );
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', leave, { once: true });
    await promise.finally(() => signal.removeEventListener('abort', leave));
  }

  /** Whoever is called is busy from now on; their name comes last. */
  private callNext(): void {
    const [next] = this.lines;
    if (!next) return;
    const [name, [first, ...others]] = next;
    this.lines.delete(name);
    this.keep(name, others);
    this.isBusy = true;
    first!();
  }

  private keep(name: string, line: (() => void)[] = []): void {
    if (line.length > 0) this.lines.set(name, line);
    else this.lines.delete(name);
  }
}
