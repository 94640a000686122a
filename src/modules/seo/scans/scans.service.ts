import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../platform/auth/principal.js';
import { Database } from '../../../platform/database/database.js';
import { notFound } from '../../../platform/errors/domain-error.js';
import { actorOf, EventRecorder } from '../../../platform/events/event-recorder.js';
import { decodeCursor, Page } from '../../../platform/http/page.js';
import { newId } from '../../../platform/ids/id.js';
import { packText, unpackText } from '../../../platform/packing/packed-text.js';
import type {
  AuditQuery,
  AuditReportView,
  HistoryEntry,
  HistoryQuery,
  OwnDomainView,
  ReportView,
  ScanDto,
  ScansQuery,
  ScanView,
  SeoQuota,
} from '../dto/seo.dto.js';
import { OwnDomains, type OwnDomain } from '../own-domains.reader.js';
import { MAX_REPORT_BYTES, type Findings } from './bounded-findings.js';
import { ScanQuota } from './scan-quota.service.js';
import type { SeoScan } from './scan.entity.js';
import { ScanRepository } from './scan.repository.js';
import { ScanRunner, type Scanned } from './scan-runner.reader.js';

/** Reports of an account that are kept: the newest. Scans of own domains cost nothing, and there may be any number. */
const KEPT = 300;
/** More than is kept of one: once more was. */
const READABLE_BYTES = 4 * MAX_REPORT_BYTES;

/** Scans of sites and their reports. */
@Injectable()
export class ScansService {
  constructor(
    private readonly database: Database,
    private readonly scans: ScanRepository,
    private readonly quota: ScanQuota,
    private readonly domains: OwnDomains,
    private readonly runner: ScanRunner,
    private readonly events: EventRecorder,
  ) {}

  allowance({ accountId }: Principal): Promise<SeoQuota> {
    return this.quota.allowance(accountId);
  }

  async ownDomains({ accountId }: Principal): Promise<OwnDomainView[]> {
    const domains = await this.domains.list(accountId);
    return domains.map(({ id, domain, siteId }) => ({ id, domain, siteId }));
  }

  /** Nothing is kept of it, as it is a GET: whoever wants to keep one scans. */
  async audit({ accountId }: Principal, { id, pages }: AuditQuery): Promise<AuditReportView> {
    const own = (await this.domains.list(accountId)).find((domain) => domain.id === id);
    if (!own) throw notFound();
    const url = new URL(own.url);
    const scanned = await this.runner.run({ accountId, url, pages, own });
    return { id: null, url: url.href, host: url.host, createdAt: new Date(), ...scanned };
  }

  async scan(caller: Principal, { url: text, pages = 1 }: ScanDto): Promise<ReportView> {
    const { accountId } = caller;
    const url = new URL(text);
    url.hash = '';
    url.hostname = withoutDot(url.hostname);
    const id = newId('scn');
    const own = ownOf(await this.domains.list(accountId), url);
    const run = async (): Promise<ReportView> =>
      this.keep(caller, id, url, await this.runner.run({ accountId, url, pages, own }));
    return own ? run() : this.quota.within(accountId, id, run);
  }

  async list({ accountId }: Principal, { host, limit, cursor }: ScansQuery): Promise<Page<ScanView>> {
    const before = cursor === undefined ? undefined : (decodeCursor(cursor, ['id'])[0] as string);
    const rows = await this.scans.list(accountId, limit + 1, hostOf(host), before);
    return Page.of(rows, limit, ({ id }) => [id]).map(scanView);
  }

  async get({ accountId }: Principal, id: string): Promise<ReportView> {
    const scan = await this.scans.findWhole(accountId, id);
    const report = JSON.parse(await unpackText(scan.report, READABLE_BYTES)) as Findings;
    const { pageCount: _pageCount, ...head } = scanView(scan);
    return { ...head, ...report };
  }

  /** Oldest first, as a line is drawn. */
  async history({ accountId }: Principal, { host, limit }: HistoryQuery): Promise<HistoryEntry[]> {
    const rows = await this.scans.list(accountId, limit, hostOf(host));
    return rows
      .reverse()
      .map(({ id, createdAt, score, siteScore }) => ({ at: createdAt, scanId: id, score, siteScore }));
  }

  async delete(caller: Principal, id: string): Promise<void> {
    const { accountId } = caller;
    await this.database.transaction(async (tx) => {
      if (!(await this.scans.delete(tx, accountId, id))) throw notFound();
      await this.events.record(tx, { accountId, resourceId: id, event: 'seo:scan.delete', ...actorOf(caller) });
    });
  }

  private async keep({ accountId }: Principal, id: string, url: URL, scanned: Scanned): Promise<ReportView> {
    const { pages, site, ...head } = scanned;
    const scan = { id, accountId, host: url.host, url: url.href, ...head, createdAt: new Date() };
    const report = await packText(JSON.stringify({ pages, site } satisfies Findings));
    await this.database.transaction(async (tx) => {
      await this.scans.insert(tx, { ...scan, pages: pages.length, report });
      await this.scans.forgetAllBut(tx, accountId, KEPT);
    });
    const { accountId: _accountId, ...shown } = scan;
    return { ...shown, pages, site };
  }
}

/** The caller's own domain that an address is of. Of a port that is not the edge's it is not: nothing of ours is there. */
function ownOf(domains: readonly OwnDomain[], { protocol, port, hostname }: URL): OwnDomain | undefined {
  const own = domains.find(({ domain }) => domain === hostname);
  if (!own || !/^https?:$/.test(protocol)) return undefined;
  const { httpPort, httpsPort } = own.edge;
  const ours = ['', String(protocol === 'https:' ? httpsPort : httpPort), new URL(own.url).port];
  return ours.includes(port) ? own : undefined;
}

/** A name is the same with the dot of the root behind it. */
function withoutDot(hostname: string): string {
  return hostname.replace(/\.$/, '');
}

/** As hosts are kept; what is no host is that of no scan. */
function hostOf(host: string): string;
function hostOf(host: string | undefined): string | undefined;
function hostOf(host: string | undefined): string | undefined {
  if (host === undefined) return undefined;
  const url = URL.parse(`http://${host}`);
  if (!url || /[/?#@\\]/.test(host)) return '';
  url.hostname = withoutDot(url.hostname);
  return url.host;
}

function scanView(scan: Omit<SeoScan, 'report'>): ScanView {
  const { id, url, host, createdAt, durationMs, score, siteScore, pages } = scan;
  return { id, url, host, createdAt, durationMs, score, siteScore, pageCount: pages };
}
