import { Inject, Injectable } from '@nestjs/common';
import pLimit from 'p-limit';
import { Config } from '../../../config/config.js';
import { Edge, EdgeError, type EdgeSettings, type SeenCertificate } from '../../../drivers/edge/edge.js';
import { RecurringWorker } from '../../../platform/background/recurring-worker.js';
import { Database } from '../../../platform/database/database.js';
import { Health } from '../../../platform/observability/health.js';
import { AppLogger } from '../../../platform/observability/logger.js';
import { CertificateObstacles } from '../domains/certificate-obstacles.js';
import { Site } from '../sites/site.entity.js';
import { EdgeLog } from './edge-log.worker.js';
import { OrderBudget } from './order-budget.service.js';

const INTERVAL_MS = 1000;
const FIRST_MS = 100;
const BATCH = 50;
const AT_ONCE = 8;
/** Looking is a handshake like any reader's, and has the edge renew what is about to end. */
const LOOK_AGAIN_MS = 6 * 3_600_000;
/** After so many failures in a row; certificate authorities count attempts. */
const PAUSES_S = [2, 5, 15, 60, 300, 900, 3600];
/** How long an order may take to be begun: the handshake that is made for it lasts less. */
const ORDER_MS = 60_000;
/** A handshake may fail once for another reason than the certificate. */
const CERTAIN_AFTER = 2;
const TOO_MANY = 'So many certificates were ordered for this account in 24 hours that the next one has to wait.';
const NO_REASON = 'The handshake failed, and the edge has told no reason.';

/**
 * Keeps the edge as it should be, also after it was started anew, and sees to it that sites get their certificates before the
 * first reader asks: by a handshake for each, whose outcome is what owners see.
 */
@Injectable()
export class EdgeKeeperWorker extends RecurringWorker {
  /** Null where there is no edge, or no certificate authority for it. */
  private readonly care: Care | null;
  private away: unknown = null;
  private readonly slots = pLimit(AT_ONCE);
  /** Sites that are being looked at: that may take longer than a turn. */
  private readonly looking = new Map<string, Promise<void>>();
  private readonly ending = new AbortController();
  private readonly unregister: () => void;

  constructor(
    config: Config,
    health: Health,
    private readonly database: Database,
    private readonly obstacles: CertificateObstacles,
    private readonly budget: OrderBudget,
    @Inject(Edge) edge: Edge | null,
    log: AppLogger,
  ) {
    super({ what: 'care for the edge', everyMs: INTERVAL_MS, firstMs: FIRST_MS }, log);
    const settings = settingsOf(config);
    this.care = edge && settings && { edge, settings, heard: new EdgeLog(edge) };
    this.unregister = this.care
      ? health.register({ name: 'edge', critical: false, check: async () => this.mustBeThere() })
      : () => undefined;
  }

  override async onModuleDestroy(): Promise<void> {
    this.ending.abort();
    await super.onModuleDestroy();
    await Promise.allSettled(this.looking.values());
    this.unregister();
    await this.care?.heard.close();
    await this.care?.edge.close();
  }

  protected async turn(): Promise<void> {
    const { care } = this;
    if (!care) return;
    const { edge, settings, heard } = care;
    // Who hears it is who cares for it: one process of this machine.
    if (!heard.listens && !(await heard.listen(settings.logPort))) return;
    try {
      if (await edge.configure(settings)) this.log.info('the edge has new settings');
      this.away = null;
    } catch (error) {
      if (!this.away) this.log.warn({ err: error }, 'the edge is away; it is tried again');
      this.away = error;
      return;
    }
    await this.lookAtDue(care, new Date());
  }

  private async lookAtDue(care: Care, now: Date): Promise<void> {
    const looking = [...this.looking.keys()];
    if (looking.length >= BATCH) return;
    const due = await this.database.manager
      .createQueryBuilder(Site, 's')
      .where('s.tlsNextAt <= :now AND s.active = 1 AND s.deletedAt IS NULL AND s.dnsLostAt IS NULL', { now })
      .andWhere("EXISTS (SELECT 1 FROM accounts a WHERE a.id = s.account_id AND a.status = 'active')")
      .andWhere(looking.length > 0 ? 's.id NOT IN (:...looking)' : '1 = 1', { looking })
      .orderBy('s.tlsNextAt', 'ASC')
      .take(BATCH - looking.length)
      .getMany();
    for (const site of due) {
      const look = this.slots(() => this.lookAt(site, care))
        .catch((error: unknown) => this.log.warn({ err: error, siteId: site.id }, 'a site could not be looked at'))
        .finally(() => this.looking.delete(site.id));
      this.looking.set(site.id, look);
    }
  }

  private async lookAt({ id, accountId, domain, ...before }: Site, care: Care): Promise<void> {
    if (this.stopped || domain === null) return;
    // One that it has is served whatever the name servers say by now.
    const served = before.tlsNotAfter !== null && +before.tlsNotAfter > Date.now();
    const obstacle = served ? null : await this.obstacles.find(domain, await care.edge.authorityNames(care.settings));
    const ask = () => (served ? this.handshake(domain, care) : this.order({ id, accountId, domain }, care));
    const outcome = obstacle === null ? await ask() : { certificate: null, reason: obstacle };
    if (outcome === 'unreachable' || this.stopped) return;
    const { certificate, reason } = outcome;
    const now = Date.now();
    if (certificate) {
      const { issuer, notAfter } = certificate;
      const next = Math.min(now + LOOK_AGAIN_MS, Math.max(now + 60_000, +notAfter - 60_000));
      const active = { tlsStatus: 'active', tlsIssuer: issuer, tlsNotAfter: notAfter, tlsError: null } as const;
      await this.database.manager.update(
        Site,
        { id, domain },
        { ...active, tlsAttempts: 0, tlsNextAt: new Date(next) },
      );
      return;
    }
    const attempts = before.tlsAttempts + 1;
    const pauseS = PAUSES_S[Math.min(attempts, PAUSES_S.length) - 1]!;
    const later = { tlsAttempts: attempts, tlsNextAt: new Date(now + pauseS * 1000) };
    const stillGood = before.tlsNotAfter !== null && +before.tlsNotAfter > now && attempts < CERTAIN_AFTER;
    const failed = (reason !== null || attempts >= CERTAIN_AFTER) && !stillGood;
    const told = failed ? ({ tlsStatus: 'failed', tlsError: reason ?? NO_REASON } as const) : {};
    // Whoever asked for another look meanwhile gets it.
    await this.database.manager.update(Site, { id, domain, tlsNextAt: before.tlsNextAt }, { ...told, ...later });
  }

  /** A handshake for a site that has no certificate, while the edge may order one for it. */
  private async order({ id, accountId, domain }: Orderer, care: Care): Promise<Outcome | 'unreachable'> {
    if (!(await this.budget.allows(accountId, domain))) return { certificate: null, reason: TOO_MANY };
    const { manager } = this.database;
    await manager.update(Site, { id, domain }, { tlsOrderUntil: new Date(Date.now() + ORDER_MS) });
    try {
      const outcome = await this.handshake(domain, care);
      if (outcome !== 'unreachable') await this.budget.count(accountId, domain);
      return outcome;
    } finally {
      await manager.update(Site, { id, domain }, { tlsOrderUntil: null });
    }
  }

  /** What the edge tells of a failure ends the wait for it. */
  private async handshake(domain: string, { edge, settings, heard }: Care): Promise<Outcome | 'unreachable'> {
    const done = new AbortController();
    const signal = AbortSignal.any([done.signal, this.ending.signal]);
    try {
      const failure = heard.failureOf(domain, signal);
      const certificate = edge.handshake(settings, domain, signal);
      // Whoever comes second is heard by nobody.
      certificate.catch(() => undefined);
      return await Promise.race([
        failure.then((reason) => ({ certificate: null, reason })),
        certificate.then((seen) => ({ certificate: seen, reason: null })),
      ]);
    } catch (error) {
      if (error instanceof EdgeError) return 'unreachable';
      throw error;
    } finally {
      done.abort();
    }
  }

  private mustBeThere(): void {
    if (this.away) throw new Error('the edge is away', { cause: this.away });
  }
}

interface Orderer {
  id: string;
  accountId: string;
  domain: string;
}

interface Outcome {
  certificate: SeenCertificate | null;
  reason: string | null;
}

interface Care {
  edge: Edge;
  settings: EdgeSettings;
  heard: EdgeLog;
}

/** Null where the operator has no edge, or no certificate authority for it. */
function settingsOf(config: Config): EdgeSettings | null {
  const { caddyAdminUrl, acmeDirectory, acmeCaFile, acmeEmail, caddyLogPort } = config;
  if (caddyAdminUrl === undefined || acmeDirectory === undefined) return null;
  return {
    host: config.pagesHost,
    httpsPort: config.pagesHttpsPort,
    originPort: config.pagesOriginPort,
    logPort: caddyLogPort,
    acmeDirectory,
    acmeCaFile,
    acmeEmail,
    storageDir: config.require('caddyStorageDir'),
  };
}
