import type { Finding } from '../audits/audit.js';
import { canonicalsOf } from '../audits/canonical.js';
import { attribute, contentOf, cut, snippet, textOf } from '../audits/html.js';
import type { Page } from '../audits/page.js';
import { PAGE_RULES } from './page-rules.js';
import type { SiteRuleId } from './site-rules.js';

export interface FoundLink {
  /** Without its fragment. */
  href: string;
  element: string;
  /** Whether search engines are asked not to follow it. */
  nofollow: boolean;
}

/** What is known of a page once it was read; plain data that goes from thread to thread. */
export interface PageSignals {
  title: string;
  description: string;
  h1: string;
  canonical: string | null;
  /** Versions in other languages: code and address. */
  alternates: { code: string; href: string; element: string }[];
  /** To http and https addresses; each address once. */
  links: FoundLink[];
  favicon: string | null;
  socialImage: { href: string; element: string } | null;
  findings: (Finding & { rule: SiteRuleId })[];
}

const MOST_LINKS = 2_000;
const MOST_FINDINGS = 20;

export function findSignals(page: Page): PageSignals {
  const { html } = page;
  const heading = html.first('h1');
  const isPage = page.fetched.status < 400;
  return {
    title: titleOf(page),
    description: cut((page.meta('description') ?? '').trim(), 1000),
    h1: heading ? textOf(heading, 500) : '',
    canonical: canonicalsOf(page)[0]?.href ?? null,
    alternates: page.links
      .filter(({ rel, hreflang, href, source }) => rel === 'alternate' && hreflang && href && source !== 'body')
      .slice(0, 100)
      .map(({ hreflang, href, raw, element }) => ({
        code: hreflang.toLowerCase(),
        href: href!,
        element: element ? snippet(element) : cut(`Link: <${raw}>`),
      })),
    links: linksOf(page),
    favicon: page.links.find(({ rel, href }) => href && rel.split(/\s+/).includes('icon'))?.href ?? null,
    socialImage: socialImageOf(page),
    findings: isPage
      ? PAGE_RULES.flatMap(([rule, find]) =>
          find(page)
            .slice(0, MOST_FINDINGS)
            .map((found) => ({ rule, ...found })),
        )
      : [],
  };
}

export function titleOf({ html }: Page): string {
  const title = html.all('title').find(({ isSvg }) => !isSvg);
  return title ? cut(contentOf(title).replace(/\s+/g, ' ').trim(), 500) : '';
}

function linksOf(page: Page): FoundLink[] {
  const found = new Map<string, FoundLink>();
  const everywhere = /(^|,)\s*(nofollow|none)\s*(,|$)/i.test(page.meta('robots') ?? '');
  for (const anchor of page.html.all('a')) {
    const raw = attribute(anchor, 'href');
    const href = raw === undefined ? null : page.resolve(raw);
    if (href === null || !/^https?:/.test(href) || found.size >= MOST_LINKS) continue;
    const plain = href.split('#')[0]!;
    const nofollow = everywhere || (attribute(anchor, 'rel') ?? '').toLowerCase().split(/\s+/).includes('nofollow');
    if (!found.has(plain)) found.set(plain, { href: plain, element: snippet(anchor), nofollow });
  }
  return [...found.values()];
}

function socialImageOf(page: Page): PageSignals['socialImage'] {
  const meta = page.html
    .all('meta')
    .find(
      (element) => ['og:image', 'twitter:image'].includes(nameOf(element.attributes)) && attribute(element, 'content'),
    );
  const href = meta && page.resolve(attribute(meta, 'content')!);
  return href && /^https?:/.test(href) ? { href, element: snippet(meta) } : null;
}

function nameOf(attributes: Map<string, string>): string {
  return (attributes.get('property') ?? attributes.get('name') ?? '').toLowerCase();
}
