import { Injectable } from '@nestjs/common';
import { LessThan } from 'typeorm';
import { Database, type Tx } from '../../../platform/database/database.js';
import { quotaExceeded } from '../../../platform/errors/domain-error.js';
import { QuotaLock } from '../../accounts/quota-lock.service.js';
import type { SeoQuota } from '../dto/seo.dto.js';
import { SeoScanUse } from './scan-use.entity.js';

const DAY_MS = 86_400_000;
const PERIOD_MS = 30 * DAY_MS;
/** Longer than any scan takes: what is open still has lost its process. */
const OPEN_MS = 10 * 60_000;

const USED = `
  SELECT COUNT(*) AS used FROM seo_scan_uses
   WHERE account_id = ? AND used_at > ? AND (settled OR used_at > ?)`;

/** Counts scans of foreign sites over the last 30 days. */
@Injectable()
export class ScanQuota {
  constructor(
    private readonly database: Database,
    private readonly quota: QuotaLock,
  ) {}

  async allowance(accountId: string): Promise<SeoQuota> {
    const [{ scans: allowed }, used] = await Promise.all([
      this.quota.peek(this.database, accountId),
      this.used(this.database, accountId),
    ]);
    return { allowed, used, remaining: Math.max(0, allowed - used) };
  }

  /** Does the work if the plan has room for it; what fails takes nothing of the plan. */
  async within<T>(accountId: string, id: string, work: () => Promise<T>): Promise<T> {
    await this.reserve(accountId, id);
    let result: T;
    try {
      result = await work();
    } catch (error) {
      await this.database.transaction(({ manager }) => manager.delete(SeoScanUse, { id }));
      throw error;
    }
    await this.database.transaction(({ manager }) => manager.update(SeoScanUse, { id }, { settled: true }));
    return result;
  }

  private async reserve(accountId: string, id: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      const { scans: allowed } = await this.quota.acquire(tx, accountId);
      const used = await this.used(tx, accountId);
      if (used >= allowed) throw quotaExceeded({ name: 'scans', allowed, used, requested: 1 });
      // What counts no more is in nobody's way, but of no use either.
      await tx.manager.delete(SeoScanUse, { accountId, usedAt: LessThan(new Date(Date.now() - PERIOD_MS - DAY_MS)) });
      await tx.manager.insert(SeoScanUse, { id, accountId, settled: false, usedAt: new Date() });
    });
  }

  private async used({ manager }: Pick<Tx, 'manager'>, accountId: string): Promise<number> {
    const now = Date.now();
    const since = [new Date(now - PERIOD_MS), new Date(now - OPEN_MS)];
    const [row] = await manager.query<{ used: unknown }[]>(USED, [accountId, ...since]);
    return Number(row!.used);
  }
}
