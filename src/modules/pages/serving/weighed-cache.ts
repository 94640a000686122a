/** What weighs more than that part of the limit is heavy. */
const HEAVY = 1 / 8;
/** All that is heavy has that part of the limit at most, so that it never pushes out more than that of all else. */
const FOR_HEAVY = 1 / 2;

/**
 * Keeps what was used last, up to a weight, and gives what is being made to all who ask for it meanwhile. The heavy entry that
 * was used last stays whatever it weighs: it would be made anew for each who asks.
 */
export class WeighedCache<T> {
  private readonly light = new Shelf<T>();
  private readonly heavy = new Shelf<T>();
  private readonly making = new Map<string, Promise<T>>();

  constructor(private readonly limit: number) {}

  peek(key: string): T | undefined {
    return this.light.use(key) ?? this.heavy.use(key);
  }

  /** At once where it is there. `weigh` tells what it takes of the limit. */
  get(key: string, make: () => Promise<T>, weigh: (value: T) => number): T | Promise<T> {
    const found = this.peek(key);
    if (found !== undefined) return found;
    const running = this.making.get(key);
    if (running) return running;
    const made = make()
      .then((value) => this.put(key, value, weigh(value)))
      .finally(() => this.making.delete(key));
    this.making.set(key, made);
    return made;
  }

  put(key: string, value: T, weight: number): T {
    const forHeavy = this.limit * FOR_HEAVY;
    this.light.remove(key);
    this.heavy.remove(key);
    if (weight > this.limit * HEAVY) {
      this.heavy.add(key, { value, weight });
      this.heavy.trim(forHeavy, 1);
    } else {
      this.light.add(key, { value, weight });
    }
    this.light.trim(this.limit - Math.min(this.heavy.weight, forHeavy), 0);
    return value;
  }
}

interface Kept<T> {
  value: T;
  weight: number;
}

/** In the order of use: what was used last stands last. */
class Shelf<T> {
  weight = 0;
  private readonly kept = new Map<string, Kept<T>>();
  /** What is asked for over and over need not move. */
  private last: string | undefined;

  use(key: string): T | undefined {
    const found = this.kept.get(key);
    if (!found) return undefined;
    if (key !== this.last) {
      this.kept.delete(key);
      this.kept.set(key, found);
      this.last = key;
    }
    return found.value;
  }

  add(key: string, kept: Kept<T>): void {
    this.kept.set(key, kept);
    this.weight += kept.weight;
    this.last = key;
  }

  remove(key: string): void {
    const found = this.kept.get(key);
    if (!found) return;
    this.kept.delete(key);
    this.weight -= found.weight;
  }

  /** Down to the weight, but not below so many entries. */
  trim(limit: number, least: number): void {
    for (const key of this.kept.keys()) {
      if (this.weight <= limit || this.kept.size <= least) return;
      this.remove(key);
    }
  }
}
