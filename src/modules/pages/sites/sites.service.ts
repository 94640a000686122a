import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database, isDuplicate, type Tx } from '../../../platform/database/database.js';
import { quotaExceeded } from '../../../platform/errors/domain-error.js';
import { actorOf, EventRecorder, SYSTEM, type NewEvent } from '../../../platform/events/event-recorder.js';
import { decodeCursor, Page, type PageQuery } from '../../../platform/http/page.js';
import { newId } from '../../../platform/ids/id.js';
import { QuotaLock } from '../../accounts/quota-lock.service.js';
import { DomainCheck } from '../domains/domain-check.service.js';
import { DomainClaim } from '../domains/domain-claim.entity.js';
import { DomainClaims, domainTaken } from '../domains/domain-claims.service.js';
import { parseDomain } from '../domains/domain-name.js';
import type { CreateSiteDto, SiteView, UpdateSiteDto } from '../dto/site.dto.js';
import { SiteLookUps } from '../serving/site-look-ups.service.js';
import { SiteViews } from './site-views.service.js';
import { Site } from './site.entity.js';
import { SiteRepository } from './site.repository.js';

const DAY_MS = 24 * 3_600_000;

/** Making, showing, changing and deleting sites. */
@Injectable()
export class SitesService {
  constructor(
    private readonly database: Database,
    private readonly sites: SiteRepository,
    private readonly views: SiteViews,
    private readonly quota: QuotaLock,
    private readonly check: DomainCheck,
    private readonly claims: DomainClaims,
    private readonly events: EventRecorder,
    private readonly lookUps: SiteLookUps,
  ) {}

  async list({ accountId }: Principal, { limit, cursor }: PageQuery): Promise<Page<SiteView>> {
    const before = cursor === undefined ? undefined : (decodeCursor(cursor, ['id'])[0] as string);
    const page = Page.of(await this.sites.list(accountId, limit + 1, before), limit, ({ id }) => [id]);
    return new Page(await this.views.ofSites(this.database, page.items), page.nextCursor);
  }

  async get({ accountId }: Principal, id: string): Promise<SiteView> {
    return this.views.ofSite(this.database, await this.sites.findOwned(this.database, accountId, id));
  }

  async create(caller: Principal, { name, domain: text, spa = false }: CreateSiteDto): Promise<SiteView> {
    const { accountId } = caller;
    const domain = parseDomain(text);
    this.check.mustNotBeOurs(domain);
    await this.check.mustPointHere(domain);
    const proven = await this.check.isProven(domain, accountId);
    const { view, takenOver } = await this.database.transaction(async (tx) => {
      const { sites: allowed } = await this.quota.acquire(tx, accountId);
      const used = await this.sites.count(tx, accountId);
      if (used >= allowed) throw quotaExceeded({ name: 'sites', allowed, used, requested: 1 });
      const now = new Date();
      const site = tx.manager.create(Site, { ...fresh(now), id: newId('pag'), accountId, name, domain, spa });
      const claimed = await this.claims.claim(tx, { domain, accountId, proven }, now);
      if (claimed.takenOver) await this.evict(tx, domain, now);
      try {
        await tx.manager.insert(Site, site);
      } catch (error) {
        throw isDuplicate(error, 'uq_sites_domain') ? domainTaken() : error;
      }
      await this.record(tx, actorOf(caller), site, 'site:create', { domain, spa });
      return { view: await this.views.ofSite(tx, site), ...claimed };
    });
    if (takenOver) await this.lookUps.settle();
    return view;
  }

  /** Readers see the change before this answers. */
  async update(caller: Principal, id: string, { name, spa, active }: UpdateSiteDto): Promise<SiteView> {
    const { view, changed } = await this.database.transaction(async (tx) => {
      const site = await this.sites.lockOwned(tx, caller.accountId, id);
      const wanted = Object.entries({ name, spa, active }).filter(
        ([field, value]) => value !== undefined && value !== site[field as 'name' | 'spa' | 'active'],
      );
      if (wanted.length > 0) {
        const changes = Object.fromEntries(wanted);
        const now = new Date();
        await tx.manager.update(Site, { id }, { ...changes, updatedAt: now });
        Object.assign(site, changes, { updatedAt: now });
        await this.record(tx, actorOf(caller), site, 'site:update', changes);
      }
      return { view: await this.views.ofSite(tx, site), changed: wanted.length > 0 };
    });
    if (changed) await this.lookUps.settle();
    return view;
  }

  /** Judges the domain anew, as when the site was made, and has its certificate tried for without waiting any longer. */
  async verify(caller: Principal, id: string): Promise<SiteView> {
    const { accountId } = caller;
    const { domain } = await this.sites.findOwned(this.database, accountId, id);
    await this.check.mustPointHere(domain!);
    const proven = await this.check.isProven(domain!, accountId);
    const view = await this.database.transaction(async (tx) => {
      const site = await this.sites.lockOwned(tx, accountId, id);
      const now = new Date();
      const points = { dnsFailedAt: null, dnsLostAt: null, dnsNextAt: new Date(+now + DAY_MS) };
      const again = site.tlsStatus === 'active' ? {} : ({ tlsStatus: 'pending', tlsError: null } as const);
      const changes = { ...points, ...again, tlsNextAt: now, tlsAttempts: 0 };
      await tx.manager.update(Site, { id }, changes);
      if (proven) await tx.manager.update(DomainClaim, { domain: domain!, accountId }, { verifiedAt: now });
      return this.views.ofSite(tx, Object.assign(site, changes));
    });
    return view;
  }

  /** Gone at once, for readers too; what it has stored follows in the background. */
  async delete(caller: Principal, id: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      // Whoever adds a site holds the account first as well.
      await this.quota.acquire(tx, caller.accountId);
      const site = await this.sites.lockOwned(tx, caller.accountId, id);
      const now = new Date();
      await this.claims.release(tx, site.domain!, now);
      await this.discard(tx, site, now);
      await this.record(tx, actorOf(caller), site, 'site:delete', { domain: site.domain });
    });
    await this.lookUps.settle();
  }

  /** The site of an account that could not prove the domain to be its own, when another one has. */
  private async evict(tx: Tx, domain: string, now: Date): Promise<void> {
    const site = await tx.manager.findOne(Site, { where: { domain }, lock: { mode: 'pessimistic_write' } });
    if (!site) return;
    await this.discard(tx, site, now);
    const reason = "The domain was proven to be another account's.";
    await this.record(tx, SYSTEM, site, 'site:delete', { domain, reason });
  }

  private async discard(tx: Tx, { id }: Site, now: Date): Promise<void> {
    await tx.manager.update(Site, { id }, { domain: null, active: false, deletedAt: now, updatedAt: now });
  }

  private record(tx: Tx, by: Pick<NewEvent, 'actor' | 'ip'>, site: Site, event: string, more: object): Promise<void> {
    const { id: resourceId, accountId, name } = site;
    const properties = { name, ...more };
    return this.events.record(tx, { accountId, resourceId, event, properties, ...by });
  }
}

function fresh(now: Date): Partial<Site> {
  return {
    active: true,
    currentDeploymentId: null,
    tlsStatus: 'pending',
    tlsIssuer: null,
    tlsNotAfter: null,
    tlsError: null,
    tlsAttempts: 0,
    tlsNextAt: now,
    dnsFailedAt: null,
    dnsLostAt: null,
    dnsNextAt: new Date(+now + DAY_MS),
    createdAt: now,
    updatedAt: now,
    deletedAt: null,
  };
}
