import { Injectable } from '@nestjs/common';
import { In, IsNull, LessThan } from 'typeorm';
import { Database, type Tx } from '../../../platform/database/database.js';
import { notFound } from '../../../platform/errors/domain-error.js';
import { Deployment } from '../deployments/deployment.entity.js';
import { DomainClaim } from '../domains/domain-claim.entity.js';
import { Site } from './site.entity.js';

/** What belongs to sites, by what it is looked up with. */
export interface SiteCompany {
  /** Current deployments, by their ids. */
  deployments: Map<string, Deployment>;
  /** When domains were last proven, by the domains. */
  verifiedAt: Map<string, Date | null>;
}

/** Look-ups of sites. None of them sees another account's, nor what is deleted. */
@Injectable()
export class SiteRepository {
  constructor(private readonly database: Database) {}

  list(accountId: string, limit: number, before?: string): Promise<Site[]> {
    return this.database.manager.find(Site, {
      where: { accountId, deletedAt: IsNull(), ...(before === undefined ? {} : { id: LessThan(before) }) },
      order: { id: 'DESC' },
      take: limit,
    });
  }

  async findOwned({ manager }: Pick<Tx, 'manager'>, accountId: string, id: string): Promise<Site> {
    const site = await manager.findOneBy(Site, { id, accountId, deletedAt: IsNull() });
    if (!site) throw notFound();
    return site;
  }

  /** The same, holding the row until the transaction ends. */
  async lockOwned(tx: Tx, accountId: string, id: string): Promise<Site> {
    const site = await tx.manager.findOne(Site, {
      where: { id, accountId, deletedAt: IsNull() },
      lock: { mode: 'pessimistic_write' },
    });
    if (!site) throw notFound();
    return site;
  }

  /** How many count against the plan. Whoever decides by it holds the account's lock. */
  count(tx: Tx, accountId: string): Promise<number> {
    return tx.manager.countBy(Site, { accountId, deletedAt: IsNull() });
  }

  async companyOf({ manager }: Pick<Tx, 'manager'>, sites: readonly Site[]): Promise<SiteCompany> {
    const ids = sites.flatMap(({ currentDeploymentId }) => currentDeploymentId ?? []);
    const domains = sites.flatMap(({ domain }) => domain ?? []);
    const deployments = ids.length === 0 ? [] : await manager.findBy(Deployment, { id: In(ids) });
    const claims = domains.length === 0 ? [] : await manager.findBy(DomainClaim, { domain: In(domains) });
    return {
      deployments: new Map(deployments.map((deployment) => [deployment.id, deployment])),
      verifiedAt: new Map(claims.map(({ domain, verifiedAt }) => [domain, verifiedAt])),
    };
  }
}
