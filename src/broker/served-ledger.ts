import type { InternalApiClient } from '../platform/internal-api/internal-api.client.js';
import type { ServedRead } from '../platform/internal-api/vault-reads.contract.js';
import type { AppLogger } from '../platform/observability/logger.js';

/** Records that wait at most; with that many nothing more is served from memory, so that none is lost. */
const MAX_RECORDS = 100_000;
/** Of the room that is left, what one service may take: however many fill theirs, there is some for the next. */
const SHARE = 0.1;
/** Refused reads leave the room to those that were answered. */
const MAX_WITH_REFUSALS = 10_000;
const MAX_AT_ONCE = 500;
/** Names of keys in one request: their bytes are most of it. */
const MAX_KEY_BYTES = 256 * 1024;
const FIRST_RETRY_MS = 500;
const SLOWEST_RETRY_MS = 5000;

/** Reads that were answered without the control plane: kept until it has taken them. */
export class ServedLedger {
  private readonly records: ServedRead[] = [];
  /** How many of them each service has. */
  private readonly counts = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;
  private handingIn: Promise<void> | undefined;
  private retryMs = FIRST_RETRY_MS;

  constructor(
    private readonly api: Pick<InternalApiClient, 'vaultServed'>,
    private readonly log: AppLogger,
    /** Told how each try ended. */
    private readonly onTry: (taken: boolean) => void,
    private readonly room = MAX_RECORDS,
  ) {}

  get size(): number {
    return this.records.length;
  }

  /** Whether there was room for this service: without a record nothing may be answered. */
  add(record: ServedRead): boolean {
    const room = record.refused === null ? this.room : Math.min(this.room, MAX_WITH_REFUSALS);
    const own = this.counts.get(record.serverId) ?? 0;
    if (this.records.length >= room || own >= (this.room - this.records.length) * SHARE) return false;
    this.records.push(record);
    this.counts.set(record.serverId, own + 1);
    this.timer ??= setTimeout(() => void this.handIn(), this.retryMs);
    return true;
  }

  /** Hands in what there is, now. */
  handIn(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.handingIn ??= this.handInAll().finally(() => {
      this.handingIn = undefined;
      if (this.records.length > 0) this.timer ??= setTimeout(() => void this.handIn(), this.retryMs);
    });
    return this.handingIn;
  }

  /** A last try; what is not taken then is lost, and said. */
  async close(): Promise<void> {
    await this.handIn();
    clearTimeout(this.timer);
    if (this.records.length > 0) this.log.error({ reads: this.records.length }, 'reads of secrets were not handed in');
  }

  private async handInAll(): Promise<void> {
    while (this.records.length > 0) {
      const some = this.records.slice(0, this.next());
      try {
        await this.api.vaultServed(some);
      } catch (error) {
        if (this.retryMs === FIRST_RETRY_MS) {
          this.log.warn({ err: error, reads: this.records.length }, 'served reads not handed in yet; trying again');
        }
        this.retryMs = Math.min(this.retryMs * 2, SLOWEST_RETRY_MS);
        this.onTry(false);
        return;
      }
      this.records.splice(0, some.length);
      for (const { serverId } of some) this.forget(serverId);
      this.retryMs = FIRST_RETRY_MS;
      this.log.info({ reads: some.length, left: this.records.length }, 'served reads handed in');
      this.onTry(true);
    }
  }

  private forget(serverId: string): void {
    const left = this.counts.get(serverId)! - 1;
    if (left > 0) this.counts.set(serverId, left);
    else this.counts.delete(serverId);
  }

  private next(): number {
    let bytes = 0;
    let count = 0;
    for (const { keys } of this.records.slice(0, MAX_AT_ONCE)) {
      bytes += keys.reduce((sum, key) => sum + key.length + 3, 0);
      if (count > 0 && bytes > MAX_KEY_BYTES) break;
      count++;
    }
    return count;
  }
}
