import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Database } from '../../../platform/database/database.js';
import { AppLogger } from '../../../platform/observability/logger.js';

const DELAY_MS = 1000;
/** How often the date of one secret is written. */
const PRECISION_MS = 10_000;
const REMEMBERED = 50_000;

type Read = [id: string, at: number];

/** Keeps `lastReadAt` of secrets, in the background. */
@Injectable()
export class LastReads implements BeforeApplicationShutdown {
  private pending = new Map<string, number>();
  private readonly written = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;
  private writing = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly log: AppLogger,
  ) {}

  note(ids: Iterable<string>, at = Date.now()): void {
    for (const id of ids) if (at > (this.pending.get(id) ?? 0)) this.pending.set(id, at);
    if (this.pending.size > 0) this.timer ??= setTimeout(() => void this.flush(), DELAY_MS).unref();
  }

  /** Writes what is due; the rest waits until it is. */
  flush(everything = false): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const now = Date.now();
    const due = [...this.pending].filter(([id]) => everything || now - (this.written.get(id) ?? 0) >= PRECISION_MS);
    for (const [id] of due) this.pending.delete(id);
    if (this.pending.size > 0) this.timer = setTimeout(() => void this.flush(), DELAY_MS).unref();
    this.writing = this.writing.then(() => this.write(due, now));
    return this.writing;
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.flush(true);
  }

  private async write(due: Read[], now: number): Promise<void> {
    if (due.length === 0) return;
    try {
      for (const group of bySecond(due)) {
        const ids = group.map(([id]) => id);
        const latest = new Date(Math.max(...group.map(([, at]) => at)));
        await this.database.manager.query(
          'UPDATE vault_secrets SET last_read_at = ? WHERE id IN (?) AND (last_read_at IS NULL OR last_read_at < ?)',
          [latest, ids, latest],
        );
        for (const id of ids) this.written.set(id, now);
      }
      while (this.written.size > REMEMBERED) this.written.delete(this.written.keys().next().value!);
    } catch (err) {
      this.log.warn({ err, secrets: due.length }, 'Read dates of secrets could not be written');
    }
  }
}

/** Those of one second get the moment of the latest of them. Nodes hand in reads of long ago beside those of now. */
function bySecond(reads: Read[]): Read[][] {
  const groups = new Map<number, Read[]>();
  for (const read of reads) {
    const second = Math.floor(read[1] / 1000);
    const group = groups.get(second);
    if (group) group.push(read);
    else groups.set(second, [read]);
  }
  return [...groups.values()];
}
