import { MAX_URL_LENGTH } from '../../../platform/network/url-length.js';
import type { Finding } from '../audits/audit.js';
import { canonicalsOf } from '../audits/canonical.js';
import { attribute, contentOf, cut, snippet, textOf } from '../audits/html.js';
import type { Page } from '../audits/page.js';
import { MOST_FINDINGS, PAGE_RULES } from './page-rules.js';
import type { SiteRuleId } from './site-rules.js';

export interface FoundLink {
  /** Without its fragment. */
  href: string;
  element: string;
  /** Whether search engines are asked not to follow it. */
  nofollow: boolean;
}

/**
 * What is known of a page once it was read; plain data that goes from thread to thread. Its addresses are of http or https, and
 * none is too long.
 */
export interface PageSignals {
  title: string;
  description: string;
  h1: string;
  canonical: string | null;
  /** Versions in other languages: code and address. */
  alternates: { code: string; href: string; element: string }[];
  /** Each address once. */
  links: FoundLink[];
  /** `inline` when it stands in the page itself. */
  favicon: string | null;
  socialImage: { href: string; element: string } | null;
  findings: (Finding & { rule: SiteRuleId })[];
}

const MOST_LINKS = 1_000;

export function findSignals(page: Page): PageSignals {
  const { html } = page;
  const heading = html.first('h1');
  const isPage = page.fetched.status < 400;
  return {
    title: titleOf(page),
    description: cut((page.meta('description') ?? '').trim(), 1000),
    h1: heading ? textOf(heading, 500) : '',
    canonical: askable(canonicalsOf(page)[0]?.href),
    alternates: page.links
      .filter(
        ({ rel, hreflang, href, source }) => rel === 'alternate' && hreflang && askable(href) && source !== 'body',
      )
      .slice(0, 100)
      .map(({ hreflang, href, raw, element }) => ({
        code: hreflang.toLowerCase(),
        href: href!,
        element: element ? snippet(element) : cut(`Link: <${raw}>`),
      })),
    links: linksOf(page),
    favicon: faviconOf(page),
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
    const plain = askable(href?.split('#')[0]);
    if (plain === null) continue;
    const nofollow = everywhere || (attribute(anchor, 'rel') ?? '').toLowerCase().split(/\s+/).includes('nofollow');
    if (!found.has(plain)) found.set(plain, { href: plain, element: snippet(anchor), nofollow });
    if (found.size === MOST_LINKS) break;
  }
  return [...found.values()];
}

function faviconOf(page: Page): PageSignals['favicon'] {
  const href = page.links.find((link) => link.href && link.rel.split(/\s+/).includes('icon'))?.href;
  if (!href) return null;
  return /^https?:/.test(href) ? askable(href) : 'inline';
}

/** An address that others can be asked for. */
function askable(href: string | null | undefined): string | null {
  return href && /^https?:/.test(href) && href.length <= MAX_URL_LENGTH ? href : null;
}

function socialImageOf(page: Page): PageSignals['socialImage'] {
  const meta = page.html
    .all('meta')
    .find(
      (element) => ['og:image', 'twitter:image'].includes(nameOf(element.attributes)) && attribute(element, 'content'),
    );
  const href = meta && askable(page.resolve(attribute(meta, 'content')!));
  return href ? { href, element: snippet(meta) } : null;
}

function nameOf(attributes: Map<string, string>): string {
  return (attributes.get('property') ?? attributes.get('name') ?? '').toLowerCase();
}
