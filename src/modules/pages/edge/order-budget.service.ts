import { Injectable } from '@nestjs/common';
import { LessThan } from 'typeorm';
import { Database } from '../../../platform/database/database.js';
import { QuotaLock } from '../../accounts/quota-lock.service.js';
import { CertificateOrder } from './certificate-order.entity.js';

const DAY_MS = 24 * 3_600_000;
/** Of how many domains: enough to have all sites that the plan allows made on two other domains in one day. */
const domainsOf = (sites: number): number => 20 + 2 * sites;
/** Of one domain: more than the pauses after failures allow, however often its site is made anew. */
const ORDERS_OF_DOMAIN = 40;

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

  async allows(accountId: string, domain: string): Promise<boolean> {
    const { manager } = this.database;
    await manager.delete(CertificateOrder, { accountId, orderedAt: LessThan(new Date(Date.now() - DAY_MS)) });
    const ofDomain = await manager.countBy(CertificateOrder, { accountId, domain });
    if (ofDomain > 0) return ofDomain < ORDERS_OF_DOMAIN;
    const { sites } = await this.quota.peek({ manager }, accountId);
    const ordered = await manager
      .createQueryBuilder(CertificateOrder, 'o')
      .select('COUNT(DISTINCT o.domain)', 'domains')
      .where({ accountId })
      .getRawOne<{ domains: string }>();
    return Number(ordered!.domains) < domainsOf(sites);
  }

  async count(accountId: string, domain: string): Promise<void> {
    await this.database.manager.insert(CertificateOrder, { accountId, domain, orderedAt: new Date() });
  }
}
