import { Injectable } from '@nestjs/common';
import { IsNull } from 'typeorm';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database } from '../../../platform/database/database.js';
import { unavailable } from '../../../platform/errors/domain-error.js';
import { actorOf, EventRecorder } from '../../../platform/events/event-recorder.js';
import type { PackSummary } from '../archive/pack.js';
import type { DeploymentView } from '../dto/deployment.dto.js';
import { SiteLookUps } from '../serving/site-look-ups.service.js';
import { SiteRepository } from '../sites/site.repository.js';
import { SiteViews } from '../sites/site-views.service.js';
import { Deployment } from './deployment.entity.js';
import { Publication } from './publication.service.js';
import { SiteQuota } from './site-quota.service.js';

/** Makes a complete pack what its site shows. */
@Injectable()
export class SitePublishing {
  constructor(
    private readonly database: Database,
    private readonly sites: SiteRepository,
    private readonly views: SiteViews,
    private readonly quota: SiteQuota,
    private readonly publication: Publication,
    private readonly events: EventRecorder,
    private readonly lookUps: SiteLookUps,
  ) {}

  async publish(caller: Principal, { id, siteId }: Deployment, pack: PackSummary): Promise<DeploymentView> {
    const { accountId } = caller;
    const { files, bytes, warnings, manifest } = pack;
    const view = await this.database.transaction(async (tx) => {
      const plan = await this.quota.acquire(tx, accountId, manifest.at + manifest.bytes);
      // Deployments of one site that come together are shown one after the other.
      const site = await this.sites.lockOwned(tx, accountId, siteId);
      const now = new Date();
      const ready = { files, bytes, warnings, manifestAt: manifest.at, manifestBytes: manifest.bytes };
      const { affected } = await tx.manager.update(
        Deployment,
        { id, status: 'PREPARING', discardedAt: IsNull() },
        { ...ready, status: 'READY' },
      );
      if (affected !== 1) throw unavailable('deployment', new Error('the deployment was given up meanwhile'));
      await this.publication.publish(tx, site, id, now);
      await this.publication.prune(tx, site, plan, now);
      const properties = { deployment: id, files, bytes };
      const event = 'site:deployment.publish';
      await this.events.record(tx, { accountId, resourceId: siteId, event, properties, ...actorOf(caller) });
      return this.views.ofDeployment(await tx.manager.findOneByOrFail(Deployment, { id }), id);
    });
    await this.lookUps.settle();
    return view;
  }
}
