import { MOST_FINDINGS, type Audit } from './audit.js';
import { attribute, cut, snippet, textOf, type Element } from './html.js';
import { GENERIC_TEXTS } from './generic-texts.js';
import type { Page } from './page.js';

/** Attributes that say where a link leads, and so make no sense without `href`. */
const WITH_HREF = ['target', 'download', 'ping', 'rel', 'hreflang', 'type', 'referrerpolicy'];

export const linkText: Audit = {
  id: 'link-text',
  weight: 1,
  title: 'Links say where they lead',
  judge(page) {
    return page.html
      .all('a')
      .filter((anchor) => isGeneric(page, anchor))
      .slice(0, MOST_FINDINGS)
      .map((anchor) => ({
        element: snippet(anchor),
        reason: `The text "${cut(textOf(anchor), 60)}" does not tell where the link leads.`,
        fix: 'Name what the link leads to in its text.',
      }));
  },
};

function isGeneric(page: Page, anchor: Element): boolean {
  // What is in several links would be read for each of them.
  if (anchor.inLink) return false;
  const href = hrefOf(page, anchor);
  if (href === '' || (attribute(anchor, 'rel') ?? '').includes('nofollow')) return false;
  if (/^(javascript|mailto):/i.test(href) || withoutFragment(href) === withoutFragment(page.url.href)) return false;
  const text = textOf(anchor).toLowerCase();
  if (text === '') return false;
  const lang = languageOf(anchor);
  // Of a language that has no list nothing is known.
  const lists = lang ? [GENERIC_TEXTS[lang.split('-')[0]!] ?? new Set<string>()] : Object.values(GENERIC_TEXTS);
  return lists.some((texts) => texts.has(text));
}

/** The language of what stands in a link, if it is but one. */
function languageOf(anchor: Element): string | null {
  const inner = new Set<string>();
  const stack = [...anchor.node.childNodes];
  while (stack.length > 0) {
    const node = stack.pop()!;
    if (!('tagName' in node)) continue;
    const lang = node.attrs.find(({ name }) => name === 'lang')?.value;
    if (lang) inner.add(lang.split('-')[0]!);
    for (const child of node.childNodes) stack.push(child);
  }
  if (inner.size > 1) return null;
  return [...inner][0] ?? anchor.lang;
}

export const crawlableAnchors: Audit = {
  id: 'crawlable-anchors',
  weight: 1,
  title: 'Links can be followed',
  judge(page) {
    return page.html
      .all('a')
      .filter((anchor) => leadsNowhere(page, anchor))
      .slice(0, MOST_FINDINGS)
      .map((anchor) => ({
        element: snippet(anchor),
        reason: 'The link has no address that a search engine could follow.',
        fix: 'Give the link an href with the address of a page.',
      }));
  },
};

function leadsNowhere(page: Page, anchor: Element): boolean {
  const raw = (attribute(anchor, 'href') ?? '').replace(/\s/g, '');
  if ((attribute(anchor, 'role') ?? '').trim() !== '' || raw.startsWith('mailto:')) return false;
  if (raw === '' && attribute(anchor, 'id')) return false;
  if (raw.startsWith('file:')) return true;
  if ((attribute(anchor, 'name') ?? '').trim() !== '') return false;
  const names = [...anchor.attributes.keys()];
  if (!anchor.attributes.has('href') && !names.some((name) => WITH_HREF.includes(name))) {
    // A placeholder, unless something happens when it is clicked.
    return names.some((name) => /^on[a-z]+$/.test(name));
  }
  if (hrefOf(page, anchor) === '' || /javascript:void(\(|)0(\)|)/.test(raw)) return true;
  return page.resolve(raw, page.url.href) === null;
}

/** As a script would see it: resolved where it can be, as it stands where not. */
function hrefOf(page: Page, anchor: Element): string {
  const raw = attribute(anchor, 'href') ?? (anchor.isSvg ? attribute(anchor, 'xlink:href') : undefined);
  return raw === undefined ? '' : (page.resolve(raw) ?? raw);
}

function withoutFragment(href: string): string {
  return href.split('#')[0]!;
}
