import { Injectable } from '@nestjs/common';
import { setTimeout as wait } from 'node:timers/promises';
import { Batcher } from '../../../platform/batching/batcher.js';
import { Database } from '../../../platform/database/database.js';
import { AppLogger } from '../../../platform/observability/logger.js';
import { SiteAddresses } from '../sites/site-addresses.service.js';

/** A deployment as it is shown under some host. */
export interface Shown {
  deploymentId: string;
  siteId: string;
  blobId: string;
  manifestAt: number;
  manifestBytes: number;
  spa: boolean;
  /** Where plain HTTP leads to; null while there is no certificate. */
  secureUrl: string | null;
  isPreview: boolean;
}

interface Entry {
  shown: Shown | null;
  /** When the question was put that this is the answer to. */
  askedAt: number;
  refreshing: Promise<Entry> | null;
}

/**
 * How long an answer of the database may be gone by. Whoever changes what is shown waits that long before it says that it is
 * done: from then on no process shows what was before, whether or not it could be told.
 */
const LEASE_MS = 50;
/** Timers may be a little early. */
const SETTLED_MS = LEASE_MS + 5;
/** While the database cannot be asked, sites are shown as they were last. */
const WITHOUT_DATABASE_MS = 600_000;
const MAX_ENTRIES = 20_000;
const LIMITS = { items: 128, atOnce: 4 };

const COLUMNS = `
  s.id AS siteId, s.domain, s.spa, s.tls_status AS tlsStatus, d.id AS deploymentId, d.blob_id AS blobId,
  d.manifest_at AS manifestAt, d.manifest_bytes AS manifestBytes`;
const SITES = `sites s JOIN accounts a ON a.id = s.account_id AND a.status = 'active'`;
const LIVING = 's.active = 1 AND s.deleted_at IS NULL';

type Row = Record<'siteId' | 'domain' | 'tlsStatus' | 'deploymentId' | 'blobId', string> &
  Record<'spa' | 'manifestAt' | 'manifestBytes', unknown>;

/** Finds what is shown under a host. */
@Injectable()
export class SiteLookUps {
  private readonly entries = new Map<string, Entry>();
  private readonly questions = new Batcher<string, Shown | null>((hosts) => this.ask(hosts), LIMITS);
  private readonly retirees = new Map<string, Promise<Shown[]>>();
  private complained = false;

  constructor(
    private readonly database: Database,
    private readonly addresses: SiteAddresses,
    private readonly log: AppLogger,
  ) {}

  /** At once where it is known, as that is nearly always so and every promise costs; null where nothing is shown. */
  find(host: string): Shown | null | Promise<Shown | null> {
    const entry = this.entries.get(host);
    const age = entry ? performance.now() - entry.askedAt : Infinity;
    if (entry && age < LEASE_MS) {
      // Asked again before it is too old, so that nobody waits.
      if (age > LEASE_MS / 2) void this.refresh(host, entry).catch(() => undefined);
      return entry.shown;
    }
    return this.refresh(host, entry).then(({ shown }) => shown);
  }

  /** After a change is committed: resolves when every reader sees it. */
  async settle(): Promise<void> {
    await wait(SETTLED_MS);
  }

  /**
   * What the site showed until lately, or shows by now. Anybody may ask for any number of names that are not there, so the
   * answer holds as long as those of the hosts.
   */
  retired({ siteId }: Shown, since: Date): Promise<Shown[]> {
    const known = this.retirees.get(siteId);
    if (known) return known;
    const answer = this.askRetired(siteId, since);
    this.retirees.set(siteId, answer);
    setTimeout(() => this.retirees.delete(siteId), LEASE_MS).unref();
    return answer;
  }

  private async askRetired(siteId: string, since: Date): Promise<Shown[]> {
    const rows = await this.database.manager.query<Row[]>(
      `SELECT ${COLUMNS} FROM ${SITES} JOIN deployments d ON d.site_id = s.id
        WHERE s.id = ? AND ${LIVING} AND d.status = 'READY' AND (d.retired_at > ? OR d.id = s.current_deployment_id)
        ORDER BY d.id = s.current_deployment_id DESC, d.retired_at DESC LIMIT 6`,
      [siteId, since],
    );
    return rows.map((row) => this.shownOf(row, false));
  }

  private refresh(host: string, before: Entry | undefined): Promise<Entry> {
    if (before?.refreshing) return before.refreshing;
    const refreshing = this.look(host, before);
    if (before) before.refreshing = refreshing;
    return refreshing;
  }

  private async look(host: string, before: Entry | undefined): Promise<Entry> {
    const askedAt = performance.now();
    try {
      const shown = await this.questions.add(host);
      this.complained = false;
      return this.keep(host, { shown, askedAt, refreshing: null });
    } catch (error) {
      if (!this.complained) this.log.warn({ err: error }, 'sites are shown as they were last');
      this.complained = true;
      if (!before || askedAt - before.askedAt > WITHOUT_DATABASE_MS) throw error;
      before.refreshing = null;
      return before;
    }
  }

  private keep(host: string, entry: Entry): Entry {
    this.entries.delete(host);
    this.entries.set(host, entry);
    if (this.entries.size > MAX_ENTRIES) this.entries.delete(this.entries.keys().next().value!);
    return entry;
  }

  private async ask(hosts: string[]): Promise<(Shown | null)[]> {
    const deployments = hosts.map((host) => this.addresses.deploymentOf(host));
    const domains = hosts.filter((_, index) => deployments[index] === null);
    const ids = deployments.filter((id) => id !== null);
    const [bySite, byDeployment] = await Promise.all([this.current(domains), this.previews(ids)]);
    return hosts.map((host, index) => {
      const id = deployments[index];
      return (id == null ? bySite.get(host) : byDeployment.get(id)) ?? null;
    });
  }

  private async current(domains: string[]): Promise<Map<string, Shown>> {
    if (domains.length === 0) return new Map();
    const rows = await this.database.manager.query<Row[]>(
      `SELECT ${COLUMNS} FROM ${SITES} JOIN deployments d ON d.id = s.current_deployment_id
        WHERE s.domain IN (${domains.map(() => '?').join(', ')}) AND ${LIVING}`,
      domains,
    );
    return new Map(rows.map((row) => [row.domain, this.shownOf(row, false)]));
  }

  private async previews(ids: string[]): Promise<Map<string, Shown>> {
    if (ids.length === 0) return new Map();
    const rows = await this.database.manager.query<Row[]>(
      `SELECT ${COLUMNS} FROM ${SITES} JOIN deployments d ON d.site_id = s.id
        WHERE d.id IN (${ids.map(() => '?').join(', ')}) AND d.status = 'READY' AND d.discarded_at IS NULL AND ${LIVING}`,
      ids,
    );
    return new Map(rows.map((row) => [row.deploymentId, this.shownOf(row, true)]));
  }

  private shownOf(row: Row, isPreview: boolean): Shown {
    const { deploymentId, siteId, blobId, domain, tlsStatus } = row;
    const [manifestAt, manifestBytes, spa] = [row.manifestAt, row.manifestBytes, row.spa].map(Number);
    const secureUrl = tlsStatus === 'active' && !isPreview ? this.addresses.ofSite(domain, true) : null;
    const place = { manifestAt: manifestAt!, manifestBytes: manifestBytes! };
    return { deploymentId, siteId, blobId, ...place, spa: spa === 1, secureUrl, isPreview };
  }
}
