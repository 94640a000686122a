import { Injectable } from '@nestjs/common';
import { In, IsNull } from 'typeorm';
import type { Tx } from '../../../platform/database/database.js';
import type { PlanLimits } from '../../accounts/quota-lock.service.js';
import { Site } from '../sites/site.entity.js';
import { Deployment } from './deployment.entity.js';
import { SiteQuota } from './site-quota.service.js';

/** What a site shows, switched in one transaction. Whoever calls holds the site's row. */
@Injectable()
export class Publication {
  constructor(private readonly quota: SiteQuota) {}

  async publish(tx: Tx, site: Site, deploymentId: string, now: Date): Promise<void> {
    const before = site.currentDeploymentId;
    if (before === deploymentId) return;
    if (before !== null) await tx.manager.update(Deployment, { id: before }, { retiredAt: now });
    await tx.manager.update(Deployment, { id: deploymentId }, { retiredAt: null });
    await tx.manager.update(Site, { id: site.id }, { currentDeploymentId: deploymentId, updatedAt: now });
    Object.assign(site, { currentDeploymentId: deploymentId, updatedAt: now });
  }

  /**
   * Discards what is beyond the newest that the plan keeps, and the oldest until there is room for another one like the
   * current one, which is never discarded: whoever has filled the plan can still deploy.
   */
  async prune(
    tx: Tx,
    { id: siteId, accountId, currentDeploymentId }: Site,
    plan: PlanLimits,
    now: Date,
  ): Promise<void> {
    const all = await tx.manager.find(Deployment, {
      select: { id: true, manifestAt: true, manifestBytes: true },
      where: { siteId, status: 'READY', discardedAt: IsNull() },
      order: { id: 'DESC' },
    });
    const past = all.filter(({ id }) => id !== currentDeploymentId);
    const next = all.find(({ id }) => id === currentDeploymentId);
    let bytes = (await this.quota.bytes(tx, accountId)).kept + (next ? packBytes(next) : 0);
    const others: string[] = [];
    while (past.length > Math.max(0, plan.siteDeployments - 1) || (past.length > 0 && bytes > plan.siteBytes)) {
      const oldest = past.pop()!;
      bytes -= packBytes(oldest);
      others.push(oldest.id);
    }
    if (others.length === 0) return;
    await tx.manager.update(Deployment, { id: In(others) }, { discardedAt: now });
  }
}

/** The manifest is what a pack ends with. */
function packBytes({ manifestAt, manifestBytes }: Pick<Deployment, 'manifestAt' | 'manifestBytes'>): number {
  return manifestAt + manifestBytes;
}
