import type { NewRead } from './new-read.js';

const WINDOW_MS = 60_000;
/** Refusals of one address in a minute that get a record each. */
const RECORDED = 60;
const REMEMBERED = 10_000;

interface Window {
  until: number;
  seen: number;
  /** What came beyond that, by service and reason. */
  counted: Map<string, { read: NewRead; repeated: number }>;
}

/** Counts refusals of an address beyond the first sixty in a minute; at its end each kind of them makes one record. */
export class RefusalFlood {
  private readonly windows = new Map<string, Window>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly write: (read: NewRead, repeated: number) => Promise<void>) {}

  /** Whether it is counted instead of recorded. */
  absorbs(read: NewRead): boolean {
    const now = Date.now();
    let window = this.windows.get(read.address);
    if (!window || window.until <= now) {
      if (window) void this.end(read.address, window);
      window = { until: now + WINDOW_MS, seen: 0, counted: new Map() };
      this.windows.set(read.address, window);
      if (this.windows.size > REMEMBERED) this.forgetOldest();
    }
    if (++window.seen <= RECORDED) return false;
    const kind = `${read.serverId} ${read.via} ${read.refused}`;
    const counted = window.counted.get(kind) ?? { read, repeated: 0 };
    counted.repeated++;
    window.counted.set(kind, counted);
    this.timer ??= setTimeout(() => void this.sweep(), WINDOW_MS).unref();
    return true;
  }

  /** Writes what is counted so far. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    await Promise.all([...this.windows].map(([address, window]) => this.end(address, window)));
  }

  private async sweep(): Promise<void> {
    this.timer = undefined;
    const now = Date.now();
    const over = [...this.windows].filter(([, { until }]) => until <= now);
    await Promise.all(over.map(([address, window]) => this.end(address, window)));
    if ([...this.windows.values()].some(({ counted }) => counted.size > 0))
      this.timer ??= setTimeout(() => void this.sweep(), WINDOW_MS).unref();
  }

  private async end(address: string, window: Window): Promise<void> {
    if (this.windows.get(address) === window) this.windows.delete(address);
    for (const { read, repeated } of window.counted.values()) await this.write({ ...read, readId: null }, repeated);
    window.counted.clear();
  }

  private forgetOldest(): void {
    const [address, window] = this.windows.entries().next().value!;
    void this.end(address, window);
  }
}
