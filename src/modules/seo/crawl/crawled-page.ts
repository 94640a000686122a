import type { AuditedPage } from '../audits/page-audit.js';
import type { FetchedPage } from '../audits/page.js';
import type { SiteFinding, SiteRuleId } from '../site/site-rules.js';

/** A page that was visited and judged; `size` is that of its HTML, unpacked. */
export type CrawledPage = Omit<FetchedPage, 'body' | 'robots' | 'headers'> & AuditedPage & { size: number };

export interface Crawl {
  pages: CrawledPage[];
  /** Of the rules about the site. */
  findings: Map<SiteRuleId, SiteFinding[]>;
}
