import type { Finding } from '../audits/audit.js';
import { charsetOf } from '../audits/charset.js';
import { attribute, contentOf, cut, snippet, textOf, type Element } from '../audits/html.js';
import type { Page } from '../audits/page.js';
import type { SiteRuleId } from './site-rules.js';

const HTML_BYTES = 500_000;
const FIRST_BYTE_MS = 800;
const WORDS = 100;
/** Smaller pages gain nothing by it. */
const WORTH_COMPRESSING = 1_400;

/** Findings that are told of one page by one rule at most. */
export const MOST_FINDINGS = 20;

type Rule = [id: SiteRuleId, find: (page: Page) => Finding[]];

/** The rules that one page is held to by itself. */
export const PAGE_RULES: readonly Rule[] = [
  ['https', https],
  ['hsts', hsts],
  ['title-length', titleLength],
  ['description-length', descriptionLength],
  ['single-h1', singleH1],
  ['heading-order', headingOrder],
  ['html-lang', htmlLang],
  ['charset', charset],
  ['viewport', viewport],
  ['mixed-content', mixedContent],
  ['json-ld', jsonLd],
  ['image-dimensions', imageDimensions],
  ['social-tags', socialTags],
  ['thin-content', thinContent],
  ['redirect-chain', redirectChain],
  ['compression', compression],
  ['cache-headers', cacheHeaders],
  ['first-byte', firstByte],
  ['html-size', htmlSize],
];

function https({ url }: Page): Finding[] {
  if (url.protocol === 'https:') return [];
  return [one(url.href, 'The page is served without encryption.', 'Serve the site over HTTPS and redirect to it.')];
}

function hsts(page: Page): Finding[] {
  if (page.url.protocol !== 'https:' || page.header('strict-transport-security') !== undefined) return [];
  const fix = 'Send Strict-Transport-Security with a max-age of a year.';
  return [one('Strict-Transport-Security', 'The header is missing.', fix)];
}

function titleLength({ html }: Page): Finding[] {
  const title = html.all('title').find(({ isSvg }) => !isSvg);
  const length = [...(title ? contentOf(title).replace(/\s+/g, ' ').trim() : '')].length;
  if (length >= 10 && length <= 60) return [];
  return [one('<title>', `The title has ${length} characters.`, 'Make it 10 to 60 characters long.')];
}

function descriptionLength(page: Page): Finding[] {
  const length = [...(page.meta('description') ?? '').trim()].length;
  if (length >= 50 && length <= 160) return [];
  const element = page.metaElement('description');
  const fix = 'Make it 50 to 160 characters long.';
  return [one(element ? snippet(element) : '<head>', `The description has ${length} characters.`, fix)];
}

function singleH1({ html }: Page): Finding[] {
  const headings = html.all('h1').filter(({ isHidden }) => !isHidden);
  if (headings.length === 1) return [];
  const reason = headings.length === 0 ? 'The page has no h1.' : `The page has ${headings.length} h1 elements.`;
  return [one(headings[1] ? snippet(headings[1]) : '<body>', reason, 'Give the page exactly one h1.')];
}

function headingOrder({ html }: Page): Finding[] {
  const headings = html.elements.filter(({ tag, isHidden }) => /^h[1-6]$/.test(tag) && !isHidden);
  const skipping = headings
    .map((heading, index) => ({ heading, before: levelOf(headings[index - 1] ?? heading) }))
    .filter(({ heading, before }) => levelOf(heading) > before + 1);
  // Headings within headings have their texts in common, so no more of them are read than are told.
  return skipping.slice(0, MOST_FINDINGS).map(({ heading, before }) => {
    const text = cut(`${snippet(heading)}${textOf(heading, 80)}`);
    return one(text, `After h${before} comes h${levelOf(heading)}.`, `Use h${before + 1} here.`);
  });
}

function levelOf({ tag }: Element): number {
  return Number(tag[1]);
}

function htmlLang({ html }: Page): Finding[] {
  const root = html.first('html');
  if (root && (attribute(root, 'lang') ?? '').trim() !== '') return [];
  return [one('<html>', 'The page does not say what language it is in.', 'Give the html element a lang attribute.')];
}

function charset(page: Page): Finding[] {
  const declared =
    charsetOf(page.header('content-type')) !== undefined ||
    page.html.all('meta').some((element) => {
      if (attribute(element, 'charset')) return true;
      const isHeader = attribute(element, 'http-equiv')?.toLowerCase() === 'content-type';
      return isHeader && charsetOf(attribute(element, 'content')) !== undefined;
    });
  if (declared) return [];
  return [one('Content-Type', 'The page does not declare its encoding.', 'Add charset=utf-8 to its Content-Type.')];
}

function viewport(page: Page): Finding[] {
  const content = page.meta('viewport') ?? '';
  if (/width\s*=/.test(content) || /initial-scale\s*=/.test(content)) return [];
  const fix = 'Add <meta name="viewport" content="width=device-width, initial-scale=1">.';
  return [one('<head>', 'The page does not say how it fits small screens.', fix)];
}

const LOADED: Record<string, string> = {
  ...{ script: 'src', img: 'src', iframe: 'src', audio: 'src', video: 'src', source: 'src', embed: 'src' },
  object: 'data',
};

function mixedContent(page: Page): Finding[] {
  if (page.url.protocol !== 'https:') return [];
  const styles = page.html.all('link').filter((link) => /\bstylesheet\b/i.test(attribute(link, 'rel') ?? ''));
  const loading = [
    ...styles.map((link): [Element, string | undefined] => [link, attribute(link, 'href')]),
    ...Object.entries(LOADED).flatMap(([tag, name]) =>
      page.html.all(tag).map((element): [Element, string | undefined] => [element, attribute(element, name)]),
    ),
  ];
  return loading
    .filter(([, href]) => href !== undefined && page.resolve(href)?.startsWith('http:'))
    .map(([element]) => one(snippet(element), 'It is loaded without encryption.', 'Load it over https.'));
}

function jsonLd({ html }: Page): Finding[] {
  return html
    .all('script')
    .filter((script) => attribute(script, 'type')?.trim().toLowerCase() === 'application/ld+json')
    .flatMap((script) => {
      const reason = faultOfJsonLd(contentOf(script));
      if (reason === undefined) return [];
      return [
        one(cut(snippet(script) + contentOf(script).trim()), reason, 'Write it as JSON-LD with @context and @type.'),
      ];
    });
}

function faultOfJsonLd(text: string): string | undefined {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return 'The structured data is no JSON.';
  }
  const items = Array.isArray(data) ? (data as unknown[]) : [data];
  for (const item of items) {
    if (typeof item !== 'object' || item === null) return 'The structured data is no object.';
    if (!('@context' in item)) return 'The structured data has no @context.';
    if (!('@type' in item) && !('@graph' in item)) return 'The structured data has no @type.';
  }
  return undefined;
}

function imageDimensions({ html }: Page): Finding[] {
  return html
    .all('img')
    .filter((image) => !image.isHidden && !(image.attributes.has('width') && image.attributes.has('height')))
    .filter((image) => !/\b(width|aspect-ratio)\s*:/.test(attribute(image, 'style') ?? ''))
    .map((image) => one(snippet(image), 'The image has no size, so the page jumps.', 'Add width and height.'));
}

const SOCIAL = ['og:title', 'og:description', 'og:image', 'og:url'];

function socialTags({ html }: Page): Finding[] {
  const given = new Set(
    html
      .all('meta')
      .filter((element) => (attribute(element, 'content') ?? '').trim() !== '')
      .map((element) => (attribute(element, 'property') ?? attribute(element, 'name') ?? '').toLowerCase()),
  );
  const missing = SOCIAL.filter((name) => !given.has(name));
  if (missing.length === 0) return [];
  return [one('<head>', `Missing: ${missing.join(', ')}.`, 'Add meta elements with these properties.')];
}

function thinContent({ html }: Page): Finding[] {
  const body = html.first('body');
  const words = (body ? textOf(body, 20_000) : '').split(' ').filter((word) => word !== '').length;
  if (words >= WORDS) return [];
  return [one('<body>', `The page has ${words} words.`, `Give it ${WORDS} words or more, or merge it with another.`)];
}

function redirectChain({ fetched: { hops } }: Page): Finding[] {
  if (hops.length < 2) return [];
  const chain = cut(hops.map(({ url, status }) => `${url} (${status})`).join(' → '));
  return [
    one(chain, `It takes ${hops.length} redirects to get to the page.`, 'Redirect to the final address at once.'),
  ];
}

function compression(page: Page): Finding[] {
  if (page.header('content-encoding') !== undefined || page.fetched.body.length < WORTH_COMPRESSING) return [];
  return [one('Content-Encoding', 'The page is sent as it is.', 'Have the server compress it with gzip or Brotli.')];
}

function cacheHeaders(page: Page): Finding[] {
  if (['cache-control', 'expires', 'etag', 'last-modified'].some((name) => page.header(name) !== undefined)) return [];
  return [one('Cache-Control', 'Nothing says how long the page may be kept.', 'Send Cache-Control or an ETag.')];
}

function firstByte({ fetched: { firstByteMs } }: Page): Finding[] {
  if (firstByteMs <= FIRST_BYTE_MS) return [];
  return [one('HTTP', `The page took ${firstByteMs} ms to begin.`, `Bring that below ${FIRST_BYTE_MS} ms.`)];
}

function htmlSize({ fetched: { body, truncated } }: Page): Finding[] {
  if (body.length <= HTML_BYTES && !truncated) return [];
  return [one('HTML', `The page has ${body.length} bytes${truncated ? ' or more' : ''}.`, 'Make its HTML smaller.')];
}

function one(element: string, reason: string, fix: string): Finding {
  return { element: cut(element), reason, fix };
}
