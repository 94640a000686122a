import { Injectable } from '@nestjs/common';
import pLimit from 'p-limit';
import { IsNull, LessThanOrEqual } from 'typeorm';
import { DnsFailure } from '../../platform/dns/dns-resolver.js';
import { RecurringWorker } from '../../platform/background/recurring-worker.js';
import { Database } from '../../platform/database/database.js';
import { AppLogger } from '../../platform/observability/logger.js';
import { DomainCheck } from './domains/domain-check.service.js';
import { DomainClaim } from './domains/domain-claim.entity.js';
import { Site } from './sites/site.entity.js';

const INTERVAL_MS = 2000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Two checks a day apart; the second may be a little early. */
const LOST_AFTER_MS = 23 * HOUR_MS;
const BATCH = 100;
const AT_ONCE = 8;
const LOCK = 'berth:watch-domains';

/** Looks once a day whether the domains of sites still point here, and whose they are proven to be. */
@Injectable()
export class DomainWatchWorker extends RecurringWorker {
  constructor(
    private readonly database: Database,
    private readonly check: DomainCheck,
    log: AppLogger,
  ) {
    super({ what: 'watch over the domains of sites', everyMs: INTERVAL_MS }, log);
  }

  protected turn(): Promise<unknown> {
    return this.database.exclusively(LOCK, () => this.watch(new Date()));
  }

  /** One pass. */
  async watch(now: Date): Promise<void> {
    const due = await this.database.manager.find(Site, {
      where: { dnsNextAt: LessThanOrEqual(now), deletedAt: IsNull() },
      order: { dnsNextAt: 'ASC' },
      take: BATCH,
    });
    const slots = pLimit(AT_ONCE);
    await Promise.all(due.map((site) => slots(() => this.look(site, now))));
  }

  private async look(site: Site, now: Date): Promise<void> {
    const { id, domain, accountId } = site;
    if (this.stopped || domain === null) return;
    try {
      const { points } = await this.check.pointing(domain);
      await this.note(site, points, now);
      const verifiedAt = (await this.check.provenNow(domain, accountId)) ? now : null;
      await this.database.manager.update(DomainClaim, { domain, accountId }, { verifiedAt });
    } catch (error) {
      if (!(error instanceof DnsFailure)) throw error;
      // No answer says nothing about the domain.
      await this.database.manager.update(Site, { id }, { dnsNextAt: new Date(+now + HOUR_MS) });
    }
  }

  private async note({ id, domain, dnsFailedAt, dnsLostAt }: Site, points: boolean, now: Date): Promise<void> {
    const next = { dnsNextAt: new Date(+now + DAY_MS) };
    if (points) {
      const back = dnsFailedAt === null ? {} : { tlsNextAt: now, tlsAttempts: 0 };
      await this.database.manager.update(Site, { id }, { ...next, ...back, dnsFailedAt: null, dnsLostAt: null });
      return;
    }
    const lost = dnsLostAt === null && dnsFailedAt !== null && +now - +dnsFailedAt >= LOST_AFTER_MS;
    if (lost) this.log.info({ siteId: id, domain }, 'the domain of a site does not point here any more');
    const withdrawn = lost
      ? ({ dnsLostAt: now, tlsStatus: 'pending', tlsIssuer: null, tlsNotAfter: null } as const)
      : {};
    await this.database.manager.update(Site, { id }, { ...next, ...withdrawn, dnsFailedAt: dnsFailedAt ?? now });
  }
}
