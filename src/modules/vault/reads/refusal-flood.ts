import type { NewRead } from './new-read.js';

const WINDOW_MS = 60_000;
/** Refusals of one address in a minute that get a record each. */
const RECORDED = 60;
const REMEMBERED = 10_000;

interface Window {
  end: NodeJS.Timeout;
  seen: number;
  /** What came beyond that, by service and reason: the last one of each kind stands for all. */
  counted: Map<string, { read: NewRead; repeated: number }>;
}

/** Counts refusals of an address beyond the first sixty in a minute; at its end each kind of them makes one record. */
export class RefusalFlood {
  private readonly windows = new Map<string, Window>();

  constructor(private readonly write: (read: NewRead, repeated: number) => Promise<void>) {}

  /** Whether it is counted instead of recorded. */
  absorbs(read: NewRead): boolean {
    const window = this.windows.get(read.address) ?? this.begin(read.address);
    if (++window.seen <= RECORDED) return false;
    const kind = `${read.serverId} ${read.via} ${read.refused}`;
    const repeated = (window.counted.get(kind)?.repeated ?? 0) + 1;
    window.counted.set(kind, { read: { ...read, readId: null, at: read.at ?? new Date() }, repeated });
    return true;
  }

  /** Writes what is counted so far. */
  async flush(): Promise<void> {
    await Promise.all([...this.windows.keys()].map((address) => this.end(address)));
  }

  private begin(address: string): Window {
    const end = setTimeout(() => void this.end(address), WINDOW_MS).unref();
    const window = { end, seen: 0, counted: new Map() };
    this.windows.set(address, window);
    if (this.windows.size > REMEMBERED) void this.end(this.windows.keys().next().value!);
    return window;
  }

  private async end(address: string): Promise<void> {
    const window = this.windows.get(address);
    if (!window) return;
    clearTimeout(window.end);
    this.windows.delete(address);
    for (const { read, repeated } of window.counted.values()) await this.write(read, repeated);
  }
}
