import { randomBytes } from 'node:crypto';
import { setImmediate as othersTurn } from 'node:timers/promises';
import { WebError } from '../../../drivers/web/web.js';
import { cut } from '../audits/html.js';
import type { SiteFinding, SiteRuleId } from '../site/site-rules.js';
import type { CrawledPage } from './crawled-page.js';
import type { OtherHosts } from './other-hosts.reader.js';
import { pageKey } from './page-key.js';
import type { SiteVisit } from './site-visit.reader.js';
import { readSitemap } from './sitemap.js';

/** Links within the site that are looked after beyond the pages that were crawled anyway. */
const MOST_LINKS = 30;
const MOST_SITEMAP_ENTRIES = 500;
/** By these a page may name many. */
const MANY = new Set<SiteRuleId>(['broken-links', 'hreflang-reciprocity']);

/** What a site names, and by which rule it has to answer. */
interface Named {
  rule: SiteRuleId;
  page: string;
  url: URL;
  element: string;
}

/** What is found by looking at a site as a whole. */
export class SiteChecks {
  private readonly found = new Map<SiteRuleId, SiteFinding[]>();
  private readonly statuses = new Map<string, Promise<number | null | 'failed'>>();

  constructor(
    private readonly visit: SiteVisit,
    private readonly others: OtherHosts,
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
    const [within, elsewhere]: [Named[], Named[]] = [[], []];
    const favicon = pages[0]!.signals.favicon ?? new URL('/favicon.ico', this.home).href;
    for (const page of pages) {
      await othersTurn();
      const named = namedBy(page);
      if (page === pages[0] && favicon !== 'inline')
        named.push({ rule: 'favicon', page: this.home.href, url: new URL(favicon), element: cut(favicon) });
      for (const one of named) (one.url.host === this.home.host ? within : elsewhere).push(one);
    }
    await this.within(within);
    const faults = await this.others.faultsOf(elsewhere.map(({ url }) => url));
    for (const one of elsewhere) this.noteFault(one, faults.get(one.url.href));
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

  private async within(named: readonly Named[]): Promise<void> {
    const links = new Set<string>();
    for (const one of named) {
      await othersTurn();
      const key = pageKey(one.url);
      const isLink = MANY.has(one.rule) && !this.statuses.has(key);
      if (isLink && links.size >= MOST_LINKS) continue;
      if (isLink) links.add(key);
      const status = await this.statusOf(one.url);
      if (status === 'failed') this.noteFault(one, `${one.url.href} does not answer.`);
      else if (status !== null && status >= 400) this.noteFault(one, `${one.url.href} answers with status ${status}.`);
    }
  }

  private noteFault({ rule, page, element }: Named, fault: string | undefined): void {
    if (fault !== undefined)
      this.note(rule, page, element, cut(fault, 300), 'Correct the address or what stands there.');
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
    const keyed = pages.map(({ url, signals: { alternates } }) => {
      return {
        url,
        key: keyOf(url),
        alternates: alternates.map(({ href, element }) => ({ key: keyOf(href), element })),
      };
    });
    const named = new Map(keyed.map(({ key, alternates }) => [key, new Set(alternates.map((other) => other.key))]));
    for (const { url, key, alternates } of keyed) {
      for (const { key: other, element } of alternates) {
        if (other === key || (named.get(other)?.has(key) ?? true)) continue;
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

/** What a page says that stands elsewhere, what weighs most first. */
function namedBy({ url: page, signals }: CrawledPage): Named[] {
  const { canonical, socialImage, alternates, links } = signals;
  const named = (rule: SiteRuleId, { href, element }: { href: string; element: string }): Named => {
    return { rule, page, url: new URL(href), element };
  };
  return [
    ...(canonical ? [named('canonical-target', { href: canonical, element: cut(canonical) })] : []),
    ...(socialImage ? [named('social-image', socialImage)] : []),
    ...alternates.map((alternate) => named('hreflang-reciprocity', alternate)),
    ...links.map((link) => named('broken-links', link)),
  ];
}

function keyOf(href: string): string {
  return pageKey(new URL(href));
}
