import { Injectable } from '@nestjs/common';
import { Config } from '../../../config/config.js';
import type { Tx } from '../../../platform/database/database.js';
import type { Deployment } from '../deployments/deployment.entity.js';
import { DomainCheck } from '../domains/domain-check.service.js';
import { deploymentView, type DeploymentView } from '../dto/deployment.dto.js';
import type { SiteView, TlsView } from '../dto/site.dto.js';
import { SiteAddresses } from './site-addresses.service.js';
import type { Site } from './site.entity.js';
import { SiteRepository } from './site.repository.js';

/** Sites and deployments as their owners see them. */
@Injectable()
export class SiteViews {
  constructor(
    private readonly sites: SiteRepository,
    private readonly addresses: SiteAddresses,
    private readonly check: DomainCheck,
    private readonly config: Config,
  ) {}

  async ofSites(tx: Pick<Tx, 'manager'>, sites: readonly Site[]): Promise<SiteView[]> {
    const company = await this.sites.companyOf(tx, sites);
    return sites.map((site) => {
      const { id, name, spa, active, accountId, currentDeploymentId, createdAt, updatedAt } = site;
      const domain = site.domain!;
      const tls = tlsView(site, this.config.acmeDirectory !== undefined);
      const url = this.addresses.ofSite(domain, tls.status === 'active');
      const verifiedAt = company.verifiedAt.get(domain) ?? null;
      const verification = { ...this.check.proofOf(domain, accountId), verifiedAt };
      const current = company.deployments.get(currentDeploymentId ?? '');
      const currentDeployment = current ? this.ofDeployment(current, currentDeploymentId) : null;
      return { id, name, domain, spa, active, url, tls, verification, currentDeployment, createdAt, updatedAt };
    });
  }

  async ofSite(tx: Pick<Tx, 'manager'>, site: Site): Promise<SiteView> {
    return (await this.ofSites(tx, [site]))[0]!;
  }

  ofDeployment(deployment: Deployment, currentId: string | null): DeploymentView {
    return deploymentView(deployment, currentId, this.addresses.ofDeployment(deployment.id));
  }
}

const NO_AUTHORITY = 'The operator has set up no certificate authority.';

function tlsView({ tlsStatus, tlsIssuer, tlsNotAfter, tlsError, dnsLostAt }: Site, hasAuthority: boolean): TlsView {
  if (tlsStatus === 'active') return { status: tlsStatus, issuer: tlsIssuer, notAfter: tlsNotAfter, error: null };
  if (dnsLostAt === null) {
    const reason = hasAuthority ? tlsError : NO_AUTHORITY;
    return { status: tlsStatus, issuer: null, notAfter: null, error: reason };
  }
  const error = `The domain has not pointed here since ${dnsLostAt.toISOString().slice(0, 10)}.`;
  return { status: 'failed', issuer: null, notAfter: null, error };
}
