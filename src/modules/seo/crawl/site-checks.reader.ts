import { randomBytes } from 'node:crypto';
import { WebError } from '../../../drivers/web/web.js';
import { cut } from '../audits/html.js';
import type { SiteFinding, SiteRuleId } from '../site/site-rules.js';
import type { CrawledPage } from './crawled-page.js';
import { pageKey } from './page-key.js';
import type { SiteVisit } from './site-visit.reader.js';
import { readSitemap } from './sitemap.js';

/** Links that are looked after beyond the pages that were crawled anyway. */
const MOST_LINKS = 30;
const MOST_SITEMAP_ENTRIES = 500;

/** What is found by looking at a site as a whole. Other hosts are not asked. */
export class SiteChecks {
  private readonly found = new Map<SiteRuleId, SiteFinding[]>();
  private readonly statuses = new Map<string, Promise<number | null | 'failed'>>();

  constructor(
    private readonly visit: SiteVisit,
    private readonly home: URL,
  ) {}

  /** The addresses in the site's map, of which the faults are noted. */
  async sitemap(): Promise<string[]> {
    const named = this.visit.sitemaps.filter((href) => URL.canParse(href) && new URL(href).host === this.home.host);
    const url = new URL(named[0] ?? '/sitemap.xml', this.home);
    const file = await this.quietly(() => this.visit.file(url));
    if (!file || file.status >= 400) {
      this.note(
        'sitemap',
        url.href,
        'sitemap',
        'There is no sitemap.',
        'Serve /sitemap.xml and name it in robots.txt.',
      );
      return [];
    }
    let map = await readSitemap(file.text, file.truncated);
    const [child] = map.entries;
    if (map.kind === 'sitemapindex' && child && URL.canParse(child) && new URL(child).host === this.home.host) {
      const part = await this.quietly(() => this.visit.file(new URL(child)));
      if (part && part.status < 400) map = await readSitemap(part.text, part.truncated);
    }
    for (const fault of map.faults)
      this.note('sitemap', url.href, cut(file.text.trim(), 80), fault, 'Correct the sitemap.');
    const foreign = map.entries.find((entry) => URL.canParse(entry) && new URL(entry).host !== this.home.host);
    if (foreign) {
      this.note('sitemap', url.href, cut(foreign), 'The sitemap names a page of another host.', 'Take it out.');
    }
    return map.entries.slice(0, MOST_SITEMAP_ENTRIES);
  }

  /** What takes more requests. */
  async run(pages: readonly CrawledPage[]): Promise<void> {
    for (const page of pages) this.statuses.set(pageKey(new URL(page.url)), Promise.resolve(page.status));
    await this.softNotFound();
    await this.favicon(pages);
    for (const page of pages) {
      const { canonical, socialImage } = page.signals;
      if (canonical) await this.mustAnswer('canonical-target', page.url, canonical, canonical);
      if (socialImage) await this.mustAnswer('social-image', page.url, socialImage.href, socialImage.element);
    }
    await this.links(pages);
  }

  /** All that was found, on the pages and among them. */
  findingsOf(pages: readonly CrawledPage[]): Map<SiteRuleId, SiteFinding[]> {
    for (const { url, signals } of pages) {
      for (const { rule, element, reason, fix } of signals.findings) this.note(rule, url, element, reason, fix);
    }
    this.duplicates(pages, 'duplicate-title', ({ title }) => title);
    this.duplicates(pages, 'duplicate-description', ({ description }) => description);
    this.duplicates(pages, 'duplicate-h1', ({ h1 }) => h1);
    this.reciprocity(pages);
    return this.found;
  }

  private async softNotFound(): Promise<void> {
    const url = new URL(`/${randomBytes(12).toString('hex')}`, this.home);
    const status = await this.statusOf(url);
    if (typeof status !== 'number' || status >= 400) return;
    const reason = `An address that does not exist answers with status ${status}.`;
    this.note('soft-404', url.href, `HTTP status ${status}`, reason, 'Answer with 404 where there is no page.');
  }

  private async favicon(pages: readonly CrawledPage[]): Promise<void> {
    const href = pages[0]!.signals.favicon ?? new URL('/favicon.ico', this.home).href;
    await this.mustAnswer('favicon', this.home.href, href, href);
  }

  private async links(pages: readonly CrawledPage[]): Promise<void> {
    const wanted = pages.flatMap(({ url, signals }) => signals.links.map((link) => ({ ...link, page: url })));
    const asked = new Set<string>();
    for (const { href, element, page } of wanted) {
      const key = pageKey(new URL(href));
      if (!this.statuses.has(key) && asked.size >= MOST_LINKS) continue;
      asked.add(key);
      await this.mustAnswer('broken-links', page, href, element);
    }
  }

  private async mustAnswer(rule: SiteRuleId, page: string, href: string, element: string): Promise<void> {
    if (!URL.canParse(href) || new URL(href).host !== this.home.host) return;
    const status = await this.statusOf(new URL(href));
    if (status === null || (typeof status === 'number' && status < 400)) return;
    const reason = status === 'failed' ? `${href} does not answer.` : `${href} answers with status ${status}.`;
    this.note(rule, page, element, cut(reason, 300), 'Correct the address or what stands there.');
  }

  private statusOf(url: URL): Promise<number | null | 'failed'> {
    const key = pageKey(url);
    let status = this.statuses.get(key);
    if (!status) {
      status = this.visit.isOver
        ? Promise.resolve(null)
        : this.quietly(() => this.visit.status(url), 'failed' as const);
      this.statuses.set(key, status);
    }
    return status;
  }

  private duplicates(
    pages: readonly CrawledPage[],
    rule: SiteRuleId,
    of: (signals: CrawledPage['signals']) => string,
  ): void {
    const first = new Map<string, string>();
    for (const { url, signals, status } of pages) {
      const text = of(signals);
      if (text === '' || status >= 400) continue;
      const other = first.get(text);
      if (other === undefined) first.set(text, url);
      else
        this.note(
          rule,
          url,
          cut(text, 120),
          cut(`${other} has the same.`, 300),
          'Write one that fits this page alone.',
        );
    }
  }

  private reciprocity(pages: readonly CrawledPage[]): void {
    const byKey = new Map(pages.map((page) => [pageKey(new URL(page.url)), page]));
    for (const { url, signals } of pages) {
      for (const { href, element } of signals.alternates) {
        const other = URL.canParse(href) ? byKey.get(pageKey(new URL(href))) : undefined;
        if (!other || other.url === url) continue;
        const back = other.signals.alternates.some((link) => URL.canParse(link.href) && sameKey(link.href, url));
        if (!back)
          this.note('hreflang-reciprocity', url, element, 'That page does not name this one.', 'Name it there.');
      }
    }
  }

  private note(rule: SiteRuleId, page: string, element: string, reason: string, fix: string): void {
    const others = this.found.get(rule);
    if (others) others.push({ page, element, reason, fix });
    else this.found.set(rule, [{ page, element, reason, fix }]);
  }

  private async quietly<T, F = null>(work: () => Promise<T>, otherwise: F = null as F): Promise<T | F> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof WebError) return error.code === 'timeout' && this.visit.isOver ? (null as F) : otherwise;
      throw error;
    }
  }
}

function sameKey(one: string, other: string): boolean {
  return pageKey(new URL(one)) === pageKey(new URL(other));
}
