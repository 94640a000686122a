import { Injectable } from '@nestjs/common';
import { notFound } from '../../platform/errors/domain-error.js';
import type { Tx } from '../../platform/database/database.js';
import { Account } from './account.entity.js';
import { Plan, type PlanLimits } from './plan.entity.js';
import { limitsOfPlan } from './plans.service.js';

export type { PlanLimits } from './plan.entity.js';

/**
 * Counting against a plan: whoever is about to add to what an account has takes the lock, counts, compares and inserts in
 * the same transaction, so two requests cannot both take the last place.
 */
@Injectable()
export class QuotaLock {
  /** Holds the account's row until the transaction ends, and tells its limits. Take it before any other row lock. */
  async acquire(tx: Tx, accountId: string): Promise<PlanLimits> {
    const account = await tx.manager.findOne(Account, {
      select: { id: true, planId: true },
      where: { id: accountId },
      lock: { mode: 'pessimistic_write' },
    });
    if (!account) throw notFound();
    return limitsOfPlan(await tx.manager.findOneByOrFail(Plan, { id: account.planId }));
  }

  /** The limits as they stand, to be shown; not to decide by. */
  async peek(tx: Pick<Tx, 'manager'>, accountId: string): Promise<PlanLimits> {
    const account = await tx.manager.findOneBy(Account, { id: accountId });
    if (!account) throw notFound();
    return limitsOfPlan(await tx.manager.findOneByOrFail(Plan, { id: account.planId }));
  }
}
