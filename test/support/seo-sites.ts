import { html, ROBOTS_ALL, type FixturePage, type Parts } from './seo-pages.js';

/** The pages of a site by their paths; `*` stands for all that are not named. */
export type SitePages = Record<string, FixturePage>;

interface SiteVariant {
  what: string;
  /** For where it is served. */
  pages: (origin: string) => SitePages;
}

const link = (...paths: string[]): string =>
  paths.map((path) => `<a href="${path}">The page called ${path}</a>`).join(' ');
const xml = (body: string): FixturePage => ({ headers: { 'Content-Type': 'application/xml' }, body });
const urlset = (...urls: string[]): string =>
  `<urlset>${urls.map((url) => `<url><loc>${url}</loc></url>`).join('')}</urlset>`;

/** A site of two pages that link each other. */
const two = (what: string, first: Parts, second: Parts, more: FixturePage = {}): SiteVariant => ({
  what,
  pages: () => ({
    '/': { body: html({ ...first, body: (first.body ?? '') + link('/two') }) },
    '/two': { body: html(second), ...more },
  }),
});
const home = (what: string, parts: Parts | ((origin: string) => Parts), more: SitePages = {}): SiteVariant => ({
  what,
  pages: (origin) => ({ '/': { body: html(typeof parts === 'function' ? parts(origin) : parts) }, ...more }),
});
const map = (what: string, body: (origin: string) => string): SiteVariant => ({
  what,
  pages: (origin) => ({ '/': { body: html() }, '/sitemap.xml': xml(body(origin)) }),
});

const SAME = {
  title: '<title>The title of both of them</title>',
  description: '<meta name="description" content="The description of both of them, which is long enough to be fine.">',
  h1: '<h1>The heading of both of them</h1>',
};
const OTHER = {
  title: '<title>The title of this page only</title>',
  description:
    '<meta name="description" content="The description of this page only, which is long enough to be fine.">',
  h1: '<h1>The heading of this page only</h1>',
};
const duplicate = (part: keyof typeof SAME): { pass: SiteVariant[]; fail: SiteVariant[] } => ({
  pass: [
    two('each its own', { [part]: SAME[part] }, { [part]: OTHER[part] }),
    two('a page that is not there', { [part]: SAME[part] }, { [part]: SAME[part] }, { status: 404 }),
    two('none', { [part]: ' ' }, { [part]: ' ' }),
  ],
  fail: [two('the same', { ...OTHER, [part]: SAME[part] }, { [part]: SAME[part] })],
});

const alternate = (path: string): Parts => ({ head: `<link rel="alternate" hreflang="de" href="${path}">` });
const image = (path: string): Parts => ({ head: `<meta property="og:image" content="${path}">` });
const ICON = { headers: { 'Content-Type': 'image/png' }, body: 'x' };

/** For the rules that take a look at the whole site: what passes and what fails. */
export const SITES: Record<string, { pass: SiteVariant[]; fail: SiteVariant[] }> = {
  'broken-links': {
    pass: [
      home('to pages that are there', { body: link('/a', '/b') }, { '/a': { body: html() }, '/b': { body: html() } }),
      home('to a file', { body: link('/a.png') }, { '/a.png': ICON }),
    ],
    fail: [
      home('to what is not there', { body: link('/a') }),
      home('to a page that fails', { body: link('/a') }, { '/a': { status: 500, body: html() } }),
    ],
  },
  'soft-404': {
    pass: [home('404', {}), home('410', {}, { '*': { status: 410 } })],
    fail: [home('a page for everything', {}, { '*': { body: html() } })],
  },
  'canonical-target': {
    pass: [
      home('one that is there', (origin) => ({ head: `<link rel="canonical" href="${origin}/a">` }), {
        '/a': { body: html() },
      }),
      home('none', {}),
    ],
    fail: [home('one that is not', (origin) => ({ head: `<link rel="canonical" href="${origin}/a">` }))],
  },
  'duplicate-title': duplicate('title'),
  'duplicate-description': duplicate('description'),
  'duplicate-h1': duplicate('h1'),
  'hreflang-reciprocity': {
    pass: [two('named by each other', alternate('/two'), alternate('/')), two('none', {}, {})],
    fail: [
      two('named by one of them', alternate('/two'), {}),
      home('one that is not there', (origin) => alternate(`${origin}/de`)),
    ],
  },
  sitemap: {
    pass: [
      map('valid', (origin) => urlset(`${origin}/`)),
      {
        what: 'named by robots.txt',
        pages: (origin) => ({
          '/': { body: html(), robots: `${ROBOTS_ALL}Sitemap: ${origin}/map.xml\n` },
          '/map.xml': xml(urlset(`${origin}/`)),
        }),
      },
    ],
    fail: [
      home('none', {}),
      map('no XML', () => '<urlset><url>'),
      map('something else', () => '<rss></rss>'),
      map('of another host', () => urlset('https://example.com/')),
      map('not with full addresses', () => urlset('/a')),
    ],
  },
  'social-image': {
    pass: [home('one that is there', image('/a.png'), { '/a.png': ICON }), home('none', {})],
    fail: [
      home('one that is not', image('/a.png')),
      home('one that fails', image('/a.png'), { '/a.png': { status: 503 } }),
    ],
  },
  favicon: {
    pass: [
      home('where all look for it', {}, { '/favicon.ico': ICON }),
      home('where the page says', { head: '<link rel="icon" href="/a.png">' }, { '/a.png': ICON }),
    ],
    fail: [
      home('none', {}),
      home('not where the page says', { head: '<link rel="icon" href="/a.png">' }, { '/favicon.ico': ICON }),
    ],
  },
};
