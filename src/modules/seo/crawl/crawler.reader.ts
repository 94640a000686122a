import { Injectable } from '@nestjs/common';
import { Web, WebError, type Edge } from '../../../drivers/web/web.js';
import { PageAuditor, UnreadablePage, type AuditCaller } from '../audits/page-auditor.js';
import type { FetchedPage } from '../audits/page.js';
import { ScanSlots } from '../scans/scan-slots.js';
import type { Crawl, CrawledPage } from './crawled-page.js';
import { CrawlFrontier } from './frontier.js';
import { OtherHosts } from './other-hosts.reader.js';
import { SiteChecks } from './site-checks.reader.js';
import { SiteVisit } from './site-visit.reader.js';

const SCAN_MS = 60_000;
const AT_ONCE = 2;

export interface CrawlRequest {
  /** Whose scan it is. */
  accountId: string;
  url: URL;
  /** Pages at most, the first one included. */
  pages: number;
  /** Where the host is served by ourselves; no page of another is asked for then. */
  edge?: Edge;
}

/** Visits a site and has its pages judged. */
@Injectable()
export class Crawler {
  constructor(
    private readonly web: Web,
    private readonly auditor: PageAuditor,
    private readonly slots: ScanSlots,
  ) {}

  /** Throws what stands in the way of the first page; what fails after it is told in the findings. */
  async crawl({ accountId, url, pages, edge }: CrawlRequest): Promise<Crawl> {
    const session = this.web.open(edge ? [edge] : []);
    try {
      const signal = AbortSignal.timeout(SCAN_MS);
      const visit = new SiteVisit(session, this.slots, { staysOnHost: edge !== undefined, signal });
      const fetched = await visit.begin(url);
      const judge = (page: FetchedPage) => this.judge(page, { accountId, signal });
      const first = await judge(fetched);
      const crawled = [first];
      const others = new OtherHosts(session, this.slots, signal);
      const checks = new SiteChecks(visit, others, new URL(first.url));
      if (pages > 1 && first.status < 400 && new URL(first.url).host !== '') {
        const frontier = new CrawlFrontier(new URL(first.url), url);
        const sitemap = await checks.sitemap();
        frontier.add(linksOf(first));
        frontier.add(sitemap);
        await this.follow({ visit, judge }, frontier, crawled, pages);
        await checks.run(crawled);
      }
      return { pages: crawled, findings: checks.findingsOf(crawled) };
    } finally {
      await session.close();
    }
  }

  private async follow(site: Site, frontier: CrawlFrontier, crawled: CrawledPage[], most: number): Promise<void> {
    const { visit } = site;
    let underWay = 0;
    const work = async (): Promise<void> => {
      for (let next: URL | undefined; crawled.length + underWay < most && !visit.isOver && (next = frontier.next());) {
        underWay++;
        const page = await pageOf(site, next).finally(() => underWay--);
        if (!page || !frontier.isNew(new URL(page.url), page.signals.canonical, next)) continue;
        if (crawled.length < most) crawled.push(page);
        frontier.add(linksOf(page));
      }
    };
    // Until nobody finds anything more: what one comes back with may be work for the others.
    for (let before = -1; before !== crawled.length && frontier.hasMore && crawled.length < most && !visit.isOver;) {
      before = crawled.length;
      const lanes = visit.delayMs > 0 ? 1 : AT_ONCE;
      await Promise.all(Array.from({ length: lanes }, work));
    }
  }

  private async judge(fetched: FetchedPage, by: AuditCaller): Promise<CrawledPage> {
    const { body, robots: _robots, headers: _headers, ...rest } = fetched;
    return { ...rest, ...(await this.auditor.audit(fetched, by)), size: body.length };
  }
}

interface Site {
  visit: SiteVisit;
  judge: (page: FetchedPage) => Promise<CrawledPage>;
}

/** Null for what is no page, may not be asked for, cannot be had or comes too late. */
async function pageOf({ visit, judge }: Site, url: URL): Promise<CrawledPage | null> {
  try {
    const fetched = await visit.page(url);
    return fetched && (await judge(fetched));
  } catch (error) {
    const isLate = ['AbortError', 'TimeoutError'].includes((error as Error).name);
    if (error instanceof WebError || error instanceof UnreadablePage || isLate) return null;
    throw error;
  }
}

/** Where a page asks to be followed to. */
function linksOf({ signals }: CrawledPage): string[] {
  return signals.links.filter(({ nofollow }) => !nofollow).map(({ href }) => href);
}
