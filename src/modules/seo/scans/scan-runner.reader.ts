import { Injectable } from '@nestjs/common';
import { setTimeout as pause } from 'node:timers/promises';
import { WebError } from '../../../drivers/web/web.js';
import { UnreadablePage } from '../audits/page-auditor.js';
import { Crawler } from '../crawl/crawler.reader.js';
import type { Crawl } from '../crawl/crawled-page.js';
import { NotHtml } from '../crawl/not-html.js';
import type { OwnDomain } from '../own-domains.reader.js';
import { resultsOf, siteScoreOf } from '../site/site-rules.js';
import { boundedFindings, type Findings } from './bounded-findings.js';
import { scanProblem } from './scan-problems.js';
import { ScanSlots } from './scan-slots.js';

/** Refusals take as long as each other, so that nothing is learned from how long one takes. */
const REFUSAL_MS = 400;

export interface ScanRequest {
  accountId: string;
  url: URL;
  pages: number;
  /** When the host is one of the account's own. */
  own: OwnDomain | undefined;
}

/** What a scan found out. */
export interface Scanned extends Findings {
  durationMs: number;
  score: number;
  siteScore: number;
}

/** Carries scans out. */
@Injectable()
export class ScanRunner {
  constructor(
    private readonly crawler: Crawler,
    private readonly slots: ScanSlots,
  ) {}

  /** Throws the 422 that says why nothing can be said of the site. */
  async run({ accountId, url, pages, own }: ScanRequest): Promise<Scanned> {
    const begin = performance.now();
    try {
      const edge = own && { host: own.domain, ...own.edge };
      const crawl = await this.slots.scanning(accountId, () =>
        this.crawler.crawl({ accountId, url, pages, ...(edge && { edge }) }),
      );
      return scannedOf(crawl, pages > 1, Math.round(performance.now() - begin));
    } catch (error) {
      if (error instanceof NotHtml) throw scanProblem('not_html');
      if (error instanceof UnreadablePage) throw scanProblem('unreadable', error);
      if ((error as Error).name === 'TimeoutError') throw scanProblem('timeout', error);
      if (!(error instanceof WebError)) throw error;
      const left = REFUSAL_MS - (performance.now() - begin);
      if (error.code === 'address_refused' && left > 0) await pause(left);
      throw scanProblem(error.code, error);
    }
  }
}

function scannedOf({ pages, findings }: Crawl, crawled: boolean, durationMs: number): Scanned {
  const site = resultsOf(findings, pages.length, crawled);
  return {
    durationMs,
    score: Math.round(pages.reduce((sum, { score }) => sum + score, 0) / pages.length),
    siteScore: siteScoreOf(site),
    ...boundedFindings({
      pages: pages.map(({ url, status, signals, score, size, ms, truncated, audits }) => ({
        ...{ url, status, title: signals.title, score, bytes: size, ms, truncated },
        audits: audits.map(({ weight, ...audit }) => ({ ...audit, weight: Math.round(weight * 1000) / 1000 })),
      })),
      site: site.map(({ id, severity, title, findings: found }) => ({ id, severity, title, findings: found })),
    }),
  };
}
