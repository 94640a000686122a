/** A page of the fixture site, as a server sends it. */
export interface FixturePage {
  status?: number;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
  /** robots.txt of its host. */
  robots?: string | null;
  robotsStatus?: number;
  /** Served over HTTPS. */
  secure?: true;
  /** How many redirects lead to it. */
  redirects?: number;
  /** What it takes to begin with. */
  firstByteMs?: number;
}

export interface Variant {
  what: string;
  page: FixturePage;
}

/** What is put into a page that is good in every way. */
export interface Parts {
  head?: string;
  title?: string;
  description?: string;
  h1?: string;
  body?: string;
  html?: string;
}

export function html({
  head = '',
  title,
  description,
  h1 = '<h1>Something in particular</h1>',
  body = '',
  html: attributes = ' lang="en"',
}: Parts = {}): string {
  return `<!doctype html><html${attributes}><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${title ?? '<title>A page about something in particular</title>'}
${description ?? '<meta name="description" content="What this page is about, told in one sentence of a fitting length.">'}
${head}</head><body>${h1}${body}</body></html>`;
}

const page = (parts: Parts = {}, more: FixturePage = {}): FixturePage => ({ body: html(parts), ...more });
const of = (what: string, parts: Parts, more?: FixturePage): Variant => ({ what, page: page(parts, more) });

export const ROBOTS_ALL = 'User-agent: *\nDisallow:\n';

/** For each of Lighthouse's audits: pages that pass, that fail, and that it does not apply to. */
export const LIGHTHOUSE: Record<string, { pass: Variant[]; fail: Variant[]; none?: Variant[] }> = {
  'is-crawlable': {
    pass: [
      of('nothing said', {}),
      of('allowed in robots.txt', {}, { robots: ROBOTS_ALL }),
      of('only one bot kept out', { head: '<meta name="googlebot" content="noindex">' }),
      of('all kept out but one', {
        head: '<meta name="robots" content="noindex"><meta name="bingbot" content="index">',
      }),
      of('one bot kept out by header', {}, { headers: { 'X-Robots-Tag': 'Googlebot: noindex' } }),
      of('a date to come', { head: '<meta name="robots" content="unavailable_after: 2199-01-01">' }),
      of('another page forbidden', {}, { robots: 'User-agent: *\nDisallow: /other\n' }),
      of('noindex in the body', { body: '<p><meta name="robots" content="noindex"></p>' }),
    ],
    fail: [
      of('noindex', { head: '<meta name="robots" content="NOINDEX, follow">' }),
      of('none', { head: '<meta name="ROBOTS" content="none">' }),
      of('a date that is past', { head: '<meta name="robots" content="unavailable_after: 2001-01-01">' }),
      of('noindex in a header', {}, { headers: { 'X-Robots-Tag': 'noindex' } }),
      of('forbidden in robots.txt', {}, { robots: 'User-agent: *\nDisallow: /\n' }),
    ],
  },
  'document-title': {
    pass: [of('a title', {})],
    fail: [
      of('none', { title: '' }),
      of('an empty one', { title: '<title> \n </title>' }),
      of('one of a drawing only', { title: '', body: '<svg><title>Drawing</title></svg>' }),
    ],
  },
  'meta-description': {
    pass: [of('a description', {}), of('in other letters', { description: '<META NAME="Description" CONTENT="x">' })],
    fail: [
      of('none', { description: '' }),
      of('an empty one', { description: '<meta name="description" content=" ">' }),
      of('one in the body', { description: '', body: '<p><meta name="description" content="x"></p>' }),
    ],
  },
  'http-status-code': {
    pass: [of('200', {}), of('203', {}, { status: 203 })],
    fail: [of('404', {}, { status: 404 }), of('410', {}, { status: 410 }), of('500', {}, { status: 500 })],
  },
  'link-text': {
    pass: [
      of('text that tells', { body: '<a href="/prices">Prices of all rooms</a>' }),
      of('no link', {}),
      of('generic, but not followed', { body: '<a href="/a" rel="nofollow">click here</a>' }),
      of('generic, to the page itself', { body: '<a href="#top">here</a>' }),
      of('generic in a script', { body: '<a href="javascript:void(0)" role="button">here</a>' }),
      of('generic in another language', { body: '<a href="/a" lang="de">here</a>' }),
      of('hidden generic text', { body: '<a href="/a">Prices <span style="display:none">click here</span></a>' }),
    ],
    fail: [
      of('click here', { body: '<a href="/a">Click\n here</a>' }),
      of('in German', { body: '<a href="/a" lang="de-AT">Weiterlesen</a>' }),
      of('in no language', { html: '', body: '<a href="/a">続きを読む</a>' }),
      of('only in parts', { body: '<a href="/a"><b>read</b> <i>more</i></a>' }),
    ],
  },
  'crawlable-anchors': {
    pass: [
      of('a link', { body: '<a href="/prices">Prices of rooms</a>' }),
      of('a placeholder', { body: '<a>Prices of rooms</a>' }),
      of('a mark', { body: '<a id="top"></a><a name="here" href=""></a>' }),
      of('a button', { body: '<a role="button" href="javascript:void(0)">Open it</a>' }),
      of('mail', { body: '<a href="mailto:a@example.com">Write to us</a>' }),
    ],
    fail: [
      of('javascript:void', { body: '<a href="javascript:void(0)">Open it</a>' }),
      of('file:', { body: '<a href="file:///C:/x">Our file</a>' }),
      of('unparsable', { body: '<a href="http://[bad">Our page</a>' }),
      of('only a handler', { body: '<a onclick="go()">Our page</a>' }),
      of('no address, but a relation', { body: '<a rel="next">Our page</a>' }),
    ],
  },
  'robots-txt': {
    pass: [
      of('a valid one', {}, { robots: `${ROBOTS_ALL}# note\nSitemap: https://example.com/s.xml\nCrawl-delay: 1\n` }),
      of('patterns', {}, { robots: 'User-agent: *\nAllow: /a$\nDisallow: *.pdf$\n' }),
    ],
    fail: [
      of('500', {}, { robots: '', robotsStatus: 500 }),
      of('no rule at all', {}, { robots: '<html>not found</html>' }),
      of('unknown word', {}, { robots: `${ROBOTS_ALL}Disalow: /x\n` }),
      of('no user-agent', {}, { robots: 'Disallow: /x\n' }),
      of('a pattern that begins wrongly', {}, { robots: 'User-agent: *\nDisallow: x\n' }),
      of('$ inside', {}, { robots: 'User-agent: *\nDisallow: /a$b\n' }),
      of('a relative sitemap', {}, { robots: `${ROBOTS_ALL}Sitemap: /s.xml\n` }),
      of('an empty user-agent', {}, { robots: 'User-agent:\nDisallow: /x\n' }),
    ],
    none: [of('none', {}, { robots: null }), of('an empty one', {}, { robots: '' })],
  },
  'image-alt': {
    pass: [
      of('alt', { body: '<img src="a.png" alt="A house">' }),
      of('decoration', { body: '<img src="a.png" alt=""><img src="b.png" role="presentation">' }),
      of('a label', { body: '<img src="a.png" aria-label="A house"><img src="b.png" title="A house">' }),
      of('labelled elsewhere', { body: '<p id="l">A house</p><img src="a.png" aria-labelledby="l">' }),
    ],
    fail: [
      of('no alt', { body: '<img src="a.png">' }),
      of('blanks', { body: '<img src="a.png" alt=" ">' }),
      of('labelled by nothing', { body: '<img src="a.png" aria-labelledby="nobody">' }),
    ],
    none: [of('no image', {}), of('hidden images', { body: '<div hidden><img src="a.png"></div>' })],
  },
  hreflang: {
    pass: [
      of('none', {}),
      of('valid ones', {
        head: '<link rel="alternate" hreflang="de-AT" href="https://example.com/de"><link rel="alternate" hreflang="x-default" href="https://example.com/">',
      }),
      of('in the body it does not count', { body: '<p><link rel="alternate" hreflang="xx" href="/de"></p>' }),
    ],
    fail: [
      of('no language', { head: '<link rel="alternate" hreflang="xx" href="https://example.com/x">' }),
      of('relative', { head: '<link rel="alternate" hreflang="de" href="/de">' }),
      of('in a header', {}, { headers: { Link: '<https://example.com/x>; rel="alternate"; hreflang="xx"' } }),
    ],
  },
  canonical: {
    pass: [of('its own', { head: '<link rel="canonical" href="https://example.com/a">' })],
    fail: [
      of('relative', { head: '<link rel="canonical" href="/a">' }),
      of('no address', { head: '<link rel="canonical" href="https://[bad">' }),
      of('two', {
        head: '<link rel="canonical" href="https://example.com/a"><link rel="canonical" href="https://example.com/b">',
      }),
      of(
        'two, one in a header',
        { head: '<link rel="canonical" href="https://example.com/a">' },
        {
          headers: { Link: '<https://example.com/b>; rel=canonical' },
        },
      ),
    ],
    none: [of('none', {}), of('in the body', { body: '<p><link rel="canonical" href="/a"></p>' })],
  },
};

const WORDS = `<p>${'Words that say something of use to whoever reads them. '.repeat(15)}</p>`;

const INSECURE_IMAGE = { body: '<img alt="" width="1" height="1" src="http://example.com/a.png">' };

/** For the rules about a site that one page can break: what passes and what fails. */
export const SITE: Record<string, { pass: Variant[]; fail: Variant[] }> = {
  https: { pass: [of('secure', {}, { secure: true })], fail: [of('insecure', {})] },
  hsts: {
    pass: [
      of('given', {}, { secure: true, headers: { 'Strict-Transport-Security': 'max-age=1' } }),
      of('of no use without HTTPS', {}),
    ],
    fail: [of('missing', {}, { secure: true })],
  },
  'mixed-content': {
    pass: [
      of('on an insecure page', INSECURE_IMAGE),
      of('a link', { body: '<a href="http://example.com/">An example</a>' }, { secure: true }),
    ],
    fail: [
      of('an image', INSECURE_IMAGE, { secure: true }),
      of('styles', { head: '<link rel="stylesheet" href="http://example.com/a.css">' }, { secure: true }),
    ],
  },
  'redirect-chain': {
    pass: [of('none', {}), of('one', {}, { redirects: 1 })],
    fail: [of('two', {}, { redirects: 2 })],
  },
  'first-byte': { pass: [of('soon', {}, { firstByteMs: 800 })], fail: [of('late', {}, { firstByteMs: 850 })] },
  'title-length': {
    pass: [of('fitting', {})],
    fail: [
      of('short', { title: '<title>Home</title>' }),
      of('long', { title: `<title>${'long '.repeat(20)}</title>` }),
    ],
  },
  'description-length': {
    pass: [of('fitting', {})],
    fail: [
      of('short', { description: '<meta name="description" content="Short.">' }),
      of('long', { description: `<meta name="description" content="${'long '.repeat(50)}">` }),
    ],
  },
  'single-h1': {
    pass: [of('one', {}), of('one more that is hidden', { body: '<h1 hidden>x</h1>' })],
    fail: [of('two', { body: '<h1>Another</h1>' }), { what: 'none', page: { body: '<title>x</title><p>x' } }],
  },
  'heading-order': {
    pass: [of('in order', { body: '<h2>a</h2><h3>b</h3><h2>c</h2>' })],
    fail: [of('a level left out', { body: '<h2>a</h2><h4>b</h4>' })],
  },
  'html-lang': { pass: [of('given', {})], fail: [of('missing', { html: '' }), of('empty', { html: ' lang=""' })] },
  charset: {
    pass: [
      of('in the page', {}, { headers: { 'Content-Type': 'text/html' } }),
      {
        what: 'in the header',
        page: { body: '<title>x</title>', headers: { 'Content-Type': 'text/html; charset=utf-8' } },
      },
    ],
    fail: [{ what: 'nowhere', page: { body: '<title>x</title>', headers: { 'Content-Type': 'text/html' } } }],
  },
  viewport: { pass: [of('given', {})], fail: [{ what: 'missing', page: { body: '<title>x</title>' } }] },
  'json-ld': {
    pass: [
      of('valid', {
        head: '<script type="application/ld+json">{"@context":"https://schema.org","@type":"Thing"}</script>',
      }),
    ],
    fail: [
      of('no JSON', { head: '<script type="application/ld+json">{"@context"</script>' }),
      of('no type', { head: '<script type="application/ld+json">{"@context":"https://schema.org"}</script>' }),
      of('no context', { head: '<script type="application/ld+json">[{"@type":"Thing"}]</script>' }),
    ],
  },
  'image-dimensions': {
    pass: [of('given', { body: '<img alt="" width="1" height="1"><img alt="" style="width:5px">' })],
    fail: [of('missing', { body: '<img alt="">' }), of('half', { body: '<img alt="" width="5">' })],
  },
  'social-tags': {
    pass: [
      of('all', {
        head: ['title', 'description', 'image', 'url']
          .map((name) => `<meta property="og:${name}" content="x">`)
          .join(''),
      }),
    ],
    fail: [of('one only', { head: '<meta property="og:title" content="x">' })],
  },
  'thin-content': {
    pass: [of('enough', { body: WORDS })],
    fail: [of('little', {}), of('all hidden', { body: `<div hidden>${WORDS}</div>` })],
  },
  compression: {
    pass: [of('small', {})],
    fail: [of('large and plain', { body: WORDS.repeat(5) })],
  },
  'cache-headers': {
    pass: [of('given', {}, { headers: { 'Cache-Control': 'max-age=60' } })],
    fail: [of('missing', {})],
  },
  'html-size': { pass: [of('small', {})], fail: [of('large', { body: 'x'.repeat(600_000) })] },
};
