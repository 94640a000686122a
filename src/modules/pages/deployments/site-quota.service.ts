import { Injectable } from '@nestjs/common';
import type { Tx } from '../../../platform/database/database.js';
import { quotaExceeded } from '../../../platform/errors/domain-error.js';
import { QuotaLock, type PlanLimits } from '../../accounts/quota-lock.service.js';

/** A pack ends with its manifest. */
const STORED = `
  SELECT COALESCE(SUM(d.manifest_at + d.manifest_bytes), 0) AS stored,
         COALESCE(SUM(IF(d.discarded_at IS NULL, d.manifest_at + d.manifest_bytes, 0)), 0) AS kept
    FROM deployments d JOIN sites s ON s.id = d.site_id WHERE s.account_id = ?`;

export interface StoredBytes {
  /** All there is in the object store. */
  stored: number;
  /** That without what is to be removed. */
  kept: number;
}

/** What the packs of an account take of its plan. */
@Injectable()
export class SiteQuota {
  constructor(private readonly quota: QuotaLock) {}

  /** Holds the account's lock, and throws 403 unless so much more may be stored. */
  async acquire(tx: Tx, accountId: string, requested: number): Promise<PlanLimits> {
    const limits = await this.quota.acquire(tx, accountId);
    const { stored: used } = await this.bytes(tx, accountId);
    const allowed = limits.siteBytes;
    if (used + requested > allowed) throw quotaExceeded({ name: 'siteBytes', allowed, used, requested });
    return limits;
  }

  async bytes(tx: Tx, accountId: string): Promise<StoredBytes> {
    const [row] = await tx.manager.query<Record<keyof StoredBytes, unknown>[]>(STORED, [accountId]);
    return { stored: Number(row!.stored), kept: Number(row!.kept) };
  }
}
