import { Module } from '@nestjs/common';
import { DnsModule } from '../../platform/dns/dns.module.js';
import { AnswerSlotsModule } from '../../platform/http/answer-slots.js';
import { AccountsModule } from '../accounts/accounts.module.js';
import { BlobsWorkerModule } from '../blobs/blobs.module.js';
import { DeploymentRemoverWorker } from './deployment-remover.worker.js';
import { DeploymentsService } from './deployments/deployments.service.js';
import { Publication } from './deployments/publication.service.js';
import { SiteQuota } from './deployments/site-quota.service.js';
import { SitePublishing } from './deployments/site-publishing.service.js';
import { CertificateObstacles } from './domains/certificate-obstacles.js';
import { DomainCheck } from './domains/domain-check.service.js';
import { DomainClaims } from './domains/domain-claims.service.js';
import { DomainWatchWorker } from './domain-watch.worker.js';
import { EdgeKeeperWorker } from './edge/edge-keeper.worker.js';
import { OrderBudget } from './edge/order-budget.service.js';
import { DeployQueue } from './lifecycle/deploy-queue.js';
import { SiteDeploys } from './lifecycle/site-deploys.js';
import { CertificatePermission } from './serving/certificate-permission.service.js';
import { SiteAnswers } from './serving/site-answer.reader.js';
import { SiteContents } from './serving/site-contents.reader.js';
import { SiteListener } from './serving/site-listener.reader.js';
import { SiteLookUps } from './serving/site-look-ups.service.js';
import { SiteAddresses } from './sites/site-addresses.service.js';
import { SiteDirectory } from './sites/site-directory.service.js';
import { SiteViews } from './sites/site-views.service.js';
import { SiteRepository } from './sites/site.repository.js';
import { SitesService } from './sites/sites.service.js';

/** Sites and deployments as the API serves them. */
@Module({
  imports: [AccountsModule, DnsModule],
  providers: [
    SiteRepository,
    SiteAddresses,
    SiteDirectory,
    SiteViews,
    SitesService,
    DomainCheck,
    DomainClaims,
    SiteQuota,
    Publication,
    SitePublishing,
    DeploymentsService,
    DeployQueue,
    SiteDeploys,
    SiteLookUps,
  ],
  exports: [SitesService, DeploymentsService, SiteDeploys, SiteLookUps, SiteDirectory],
})
export class PagesModule {}

/** What readers of sites reach. */
@Module({
  imports: [PagesModule, AnswerSlotsModule],
  providers: [SiteContents, SiteAnswers, CertificatePermission, SiteListener],
  exports: [SiteListener],
})
export class PagesOriginModule {}

/** The worker's side. */
@Module({
  imports: [AccountsModule, BlobsWorkerModule, DnsModule],
  providers: [
    DeploymentRemoverWorker,
    DomainCheck,
    CertificateObstacles,
    DomainWatchWorker,
    OrderBudget,
    EdgeKeeperWorker,
  ],
})
export class PagesWorkerModule {}
