import type { Audit, Finding } from './audit.js';
import { cut, snippet } from './html.js';
import type { LinkElement, Page } from './page.js';

/** Only what stands in the head or a header counts. */
export function canonicalsOf(page: Page): LinkElement[] {
  return page.links.filter(({ rel, raw, source }) => rel === 'canonical' && raw !== '' && source !== 'body');
}

export const canonical: Audit = {
  id: 'canonical',
  weight: 1,
  title: 'The page names its one address rightly',
  judge(page) {
    const links = canonicalsOf(page);
    const invalid = links.filter(({ href }) => href === null).at(-1);
    if (invalid) return [finding(invalid, 'The address is none.', 'Give the full address of the page.')];
    const relative = links.filter(({ raw }) => !URL.canParse(raw)).at(-1);
    if (relative) {
      return [finding(relative, 'The address is not given in full.', 'Give the address with its scheme and host.')];
    }
    const addresses = new Set(links.map(({ href }) => href!));
    if (addresses.size === 0) return 'not_applicable';
    if (addresses.size > 1) {
      return [finding(links[0]!, 'The page names several addresses as its one.', 'Name exactly one address.')];
    }
    return mistakeOf(page, links[0]!);
  },
};

function mistakeOf(page: Page, link: LinkElement): Finding[] {
  const [own, target] = [page.url, new URL(link.href!)];
  const versions = new Set(
    page.links.flatMap(({ rel, href, hreflang, source }) =>
      rel === 'alternate' && href && hreflang && source !== 'body' ? [href] : [],
    ),
  );
  if (versions.has(own.href) && versions.has(target.href) && own.href !== target.href) {
    return [
      finding(link, 'The page names its version in another language as its one address.', 'Name the page itself.'),
    ];
  }
  if (target.origin === own.origin && target.pathname === '/' && own.pathname !== '/') {
    return [finding(link, 'The page names the home page as its one address.', 'Name the page itself.')];
  }
  return [];
}

function finding({ element, raw }: LinkElement, reason: string, fix: string): Finding {
  return { element: element ? snippet(element) : cut(`Link: <${raw}>; rel="canonical"`), reason, fix };
}
