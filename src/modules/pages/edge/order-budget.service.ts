import { Injectable } from '@nestjs/common';
import { LessThan, MoreThanOrEqual } from 'typeorm';
import { Database } from '../../../platform/database/database.js';
import { QuotaLock } from '../../accounts/quota-lock.service.js';
import { CertificateOrder } from './certificate-order.entity.js';

const DAY_MS = 24 * 3_600_000;
/** Enough to have all sites that the plan allows made twice on one day, and for some that fail a few times. */
const budgetOf = (sites: number): number => 20 + 2 * sites;

/**
 * How many certificates may be ordered for an account in 24 hours. Authorities count the orders of all accounts together, so
 * who makes and deletes sites without end would use up what the others need.
 */
@Injectable()
export class OrderBudget {
  constructor(
    private readonly database: Database,
    private readonly quota: QuotaLock,
  ) {}

  /** Whether one more may be ordered; if so, it is counted. */
  async take(accountId: string, domain: string): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const { sites } = await this.quota.acquire(tx, accountId);
      const now = new Date();
      const dayAgo = new Date(+now - DAY_MS);
      await tx.manager.delete(CertificateOrder, { accountId, orderedAt: LessThan(dayAgo) });
      const ordered = await tx.manager.countBy(CertificateOrder, { accountId, orderedAt: MoreThanOrEqual(dayAgo) });
      if (ordered >= budgetOf(sites)) return false;
      await tx.manager.insert(CertificateOrder, { accountId, domain, orderedAt: now });
      return true;
    });
  }
}
