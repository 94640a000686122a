import { Injectable } from '@nestjs/common';
import { IsNull, LessThan } from 'typeorm';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database } from '../../../platform/database/database.js';
import { notFound } from '../../../platform/errors/domain-error.js';
import { actorOf, EventRecorder } from '../../../platform/events/event-recorder.js';
import { decodeCursor, Page, type PageQuery } from '../../../platform/http/page.js';
import type { DeploymentView } from '../dto/deployment.dto.js';
import { SiteLookUps } from '../serving/site-look-ups.service.js';
import { SiteRepository } from '../sites/site.repository.js';
import { SiteViews } from '../sites/site-views.service.js';
import { Deployment } from './deployment.entity.js';
import { Publication } from './publication.service.js';

/** The history of a site, and the way back in it. */
@Injectable()
export class DeploymentsService {
  constructor(
    private readonly database: Database,
    private readonly sites: SiteRepository,
    private readonly views: SiteViews,
    private readonly publication: Publication,
    private readonly events: EventRecorder,
    private readonly lookUps: SiteLookUps,
  ) {}

  async list({ accountId }: Principal, siteId: string, { limit, cursor }: PageQuery): Promise<Page<DeploymentView>> {
    const before = cursor === undefined ? undefined : (decodeCursor(cursor, ['id'])[0] as string);
    const { currentDeploymentId } = await this.sites.findOwned(this.database, accountId, siteId);
    const rows = await this.database.manager.find(Deployment, {
      where: { ...shownOf(siteId), ...(before === undefined ? {} : { id: LessThan(before) }) },
      order: { id: 'DESC' },
      take: limit + 1,
    });
    return Page.of(rows, limit, ({ id }) => [id]).map((row) => this.views.ofDeployment(row, currentDeploymentId));
  }

  /** Shows a past deployment again, as it was. Readers see it before this answers. */
  async rollBack(caller: Principal, siteId: string, deploymentId: string): Promise<DeploymentView> {
    const view = await this.database.transaction(async (tx) => {
      const site = await this.sites.lockOwned(tx, caller.accountId, siteId);
      const deployment = await tx.manager.findOneBy(Deployment, { ...shownOf(siteId), id: deploymentId });
      if (!deployment) throw notFound();
      const from = site.currentDeploymentId;
      if (from !== deploymentId) {
        await this.publication.publish(tx, site, deploymentId, new Date());
        const properties = { from, to: deploymentId };
        const { accountId } = site;
        const event = 'site:deployment.rollback';
        await this.events.record(tx, { accountId, resourceId: siteId, event, properties, ...actorOf(caller) });
      }
      return this.views.ofDeployment(deployment, deploymentId);
    });
    await this.lookUps.settle();
    return view;
  }
}

function shownOf(siteId: string) {
  return { siteId, status: 'READY', discardedAt: IsNull() } as const;
}
