/** Keeps what was used last, up to a weight, and gives what is being made to all who ask for it meanwhile. */
export class WeighedCache<T> {
  private readonly kept = new Map<string, { value: T; weight: number }>();
  private readonly making = new Map<string, Promise<T>>();
  private weight = 0;

  constructor(private readonly limit: number) {}

  /** At once where it is there. `weigh` tells what it takes of the limit. */
  get(key: string, make: () => Promise<T>, weigh: (value: T) => number): T | Promise<T> {
    const found = this.kept.get(key);
    if (found) {
      // What was used last stands last.
      this.kept.delete(key);
      this.kept.set(key, found);
      return found.value;
    }
    const running = this.making.get(key);
    if (running) return running;
    const made = make()
      .then((value) => this.keep(key, value, weigh(value)))
      .finally(() => this.making.delete(key));
    this.making.set(key, made);
    return made;
  }

  private keep(key: string, value: T, weight: number): T {
    this.kept.set(key, { value, weight });
    this.weight += weight;
    for (const [oldest, { weight: less }] of this.kept) {
      if (this.weight <= this.limit) break;
      this.kept.delete(oldest);
      this.weight -= less;
    }
    return value;
  }
}
