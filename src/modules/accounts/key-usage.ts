import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import { Database } from '../../platform/database/database.js';
import { AppLogger } from '../../platform/observability/logger.js';
import { ApiKey } from './api-key.entity.js';

const PRECISION_MS = 60_000;
const DELAY_MS = 1000;

/** Keeps `lastUsedAt` of the keys, in the background and at most once a minute for each. */
@Injectable()
export class KeyUsage implements BeforeApplicationShutdown {
  private pending = new Set<string>();
  private latest = new Date(0);
  private timer: NodeJS.Timeout | undefined;
  private writing = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly log: AppLogger,
  ) {}

  /** Notes a use; `lastKnown` is what the key's row says. */
  used(keyId: string, lastKnown: Date | null): void {
    const now = Date.now();
    if (lastKnown !== null && now - lastKnown.getTime() < PRECISION_MS) return;
    this.pending.add(keyId);
    this.latest = new Date(now);
    this.timer ??= setTimeout(() => void this.flush(), DELAY_MS).unref();
  }

  /** Writes what is noted, all in one statement; uses gathered together get the moment of the latest of them. */
  flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const ids = [...this.pending];
    const at = this.latest;
    this.pending = new Set();
    this.writing = this.writing.then(() => this.write(ids, at));
    return this.writing;
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.flush();
  }

  private async write(ids: string[], at: Date): Promise<void> {
    if (ids.length === 0) return;
    try {
      await this.database.manager.update(ApiKey, { id: In(ids) }, { lastUsedAt: at });
    } catch (err) {
      this.log.warn({ err, keys: ids.length }, 'Last use of API keys could not be written');
    }
  }
}
