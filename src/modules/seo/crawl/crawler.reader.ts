import { Injectable } from '@nestjs/common';
import { Web, WebError, type Edge } from '../../../drivers/web/web.js';
import { PageAuditor, UnreadablePage } from '../audits/page-auditor.js';
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
  async crawl({ url, pages, edge }: CrawlRequest): Promise<Crawl> {
    const session = this.web.open(edge ? [edge] : []);
    try {
      const signal = AbortSignal.timeout(SCAN_MS);
      const visit = new SiteVisit(session, this.slots, { staysOnHost: edge !== undefined, signal });
      const fetched = await visit.begin(url);
      const first = await this.judge(fetched);
      const crawled = [first];
      const others = new OtherHosts(session, this.slots, signal);
      const checks = new SiteChecks(visit, others, new URL(first.url));
      if (pages > 1 && first.status < 400 && new URL(first.url).host !== '') {
        const frontier = new CrawlFrontier(new URL(first.url), url);
        const sitemap = await checks.sitemap();
        frontier.add(linksOf(first));
        frontier.add(sitemap);
        await this.follow(visit, frontier, crawled, pages);
        await checks.run(crawled);
      }
      return { pages: crawled, findings: checks.findingsOf(crawled) };
    } finally {
      await session.close();
    }
  }

  private async follow(visit: SiteVisit, frontier: CrawlFrontier, crawled: CrawledPage[], most: number): Promise<void> {
    let underWay = 0;
    const work = async (): Promise<void> => {
      for (let next: URL | undefined; crawled.length + underWay < most && !visit.isOver && (next = frontier.next());) {
        underWay++;
        const page = await this.visit(visit, next).finally(() => underWay--);
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

  private async visit(visit: SiteVisit, url: URL): Promise<CrawledPage | null> {
    try {
      const fetched = await visit.page(url);
      return fetched && (await this.judge(fetched));
    } catch (error) {
      const { name } = error as Error;
      if (error instanceof WebError || error instanceof UnreadablePage || name === 'AbortError') return null;
      throw error;
    }
  }

  private async judge(fetched: FetchedPage): Promise<CrawledPage> {
    const { body, robots: _robots, headers: _headers, ...rest } = fetched;
    return { ...rest, ...(await this.auditor.audit(fetched)), size: body.length };
  }
}

/** Where a page asks to be followed to. */
function linksOf({ signals }: CrawledPage): string[] {
  return signals.links.filter(({ nofollow }) => !nofollow).map(({ href }) => href);
}
