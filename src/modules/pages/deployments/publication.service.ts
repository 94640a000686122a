import { Injectable } from '@nestjs/common';
import { In, IsNull } from 'typeorm';
import type { Tx } from '../../../platform/database/database.js';
import { Site } from '../sites/site.entity.js';
import { Deployment } from './deployment.entity.js';

/** What a site shows, switched in one transaction. Whoever calls holds the site's row. */
@Injectable()
export class Publication {
  async publish(tx: Tx, site: Site, deploymentId: string, now: Date): Promise<void> {
    const before = site.currentDeploymentId;
    if (before === deploymentId) return;
    if (before !== null) await tx.manager.update(Deployment, { id: before }, { retiredAt: now });
    await tx.manager.update(Deployment, { id: deploymentId }, { retiredAt: null });
    await tx.manager.update(Site, { id: site.id }, { currentDeploymentId: deploymentId, updatedAt: now });
    Object.assign(site, { currentDeploymentId: deploymentId, updatedAt: now });
  }

  /** Discards what is beyond the newest that the plan keeps, and never the current one. */
  async prune(tx: Tx, { id: siteId, currentDeploymentId }: Site, kept: number, now: Date): Promise<void> {
    const all = await tx.manager.find(Deployment, {
      select: { id: true },
      where: { siteId, status: 'READY', discardedAt: IsNull() },
      order: { id: 'DESC' },
    });
    const others = all.filter(({ id }) => id !== currentDeploymentId).slice(Math.max(0, kept - 1));
    if (others.length === 0) return;
    await tx.manager.update(Deployment, { id: In(others.map(({ id }) => id)) }, { discardedAt: now });
  }
}
