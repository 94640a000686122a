import { LIGHTHOUSE, SITE, html, type FixturePage, type Variant } from '../../../../test/support/seo-pages.js';
import { SITES } from '../../../../test/support/seo-sites.js';
import { SITE_RULE_IDS } from '../site/site-rules.js';
import { AUDITS, auditPage, scoreOf, type AuditedPage } from './page-audit.js';
import { decodeHtml } from './charset.js';
import { Html, textOf } from './html.js';

function judged(page: FixturePage, url = `http${page.secure ? 's' : ''}://example.test/a/page`): AuditedPage {
  const { redirects = 0, firstByteMs = 1 } = page;
  const { status = 200, headers = {}, body = '', robots = null, robotsStatus = robots === null ? 404 : 200 } = page;
  const pairs = Object.entries({ 'Content-Type': 'text/html', ...headers }).flatMap(([name, values]) =>
    [values].flat().map((value): [string, string] => [name.toLowerCase(), value]),
  );
  const bytes = Buffer.from(body);
  return auditPage({
    ...{
      url,
      status,
      headers: pairs,
      body: bytes,
      bytes: bytes.length,
      truncated: false,
      firstByteMs,
      ms: firstByteMs,
      hops: Array.from({ length: redirects }, (_, at) => ({ url: `http://example.test/${at}`, status: 302 })),
    },
    robots: { status: robotsStatus, content: robotsStatus < 400 ? (robots ?? '') : '' },
  });
}

const rows = (
  variants: Variant[] = [],
  id: string,
  score: number | null,
): [string, FixturePage, string, number | null][] =>
  variants.map(({ what, page }) => [`${id}: ${what}`, page, id, score]);

describe('the fixture site has a page that passes and one that fails', () => {
  // Lighthouse leaves structured data to people.
  const judgedByMachine = AUDITS.filter(({ id }) => id !== 'structured-data').map(({ id }) => id);
  const bothOf = (fixtures: Record<string, { pass: unknown[]; fail: unknown[] }>): string[] =>
    Object.entries(fixtures).flatMap(([id, { pass, fail }]) => (pass.length > 0 && fail.length > 0 ? [id] : []));

  test.each([
    ['audit', judgedByMachine, bothOf(LIGHTHOUSE)],
    ['rule about a site', SITE_RULE_IDS, [...bothOf(SITE), ...bothOf(SITES)]],
  ])('for every %s', (_what, ids, covered) => {
    expect([...covered].sort()).toEqual([...ids].sort());
  });
});

describe('an audit judges as Lighthouse does', () => {
  test.each(
    Object.entries(LIGHTHOUSE).flatMap(([id, { pass, fail, none }]) => [
      ...rows(pass, id, 1),
      ...rows(fail, id, 0),
      ...rows(none, id, null),
    ]),
  )('%s', (_name, page, id, score) => {
    const audit = judged(page).audits.find((result) => result.id === id)!;
    expect(audit.score).toBe(score);
    if (score !== 0) expect(audit.findings).toEqual([]);
    for (const { element, reason, fix } of audit.findings) {
      expect(element).toMatch(/\S/);
      for (const sentence of [reason, fix]) expect(sentence).toMatch(/^.*[.]$/);
    }
    if (score === 0) expect(audit.findings.length).toBeGreaterThan(0);
  });

  test('canonical: the home page, and a version in another language, are not this page', () => {
    const canonical = '<link rel="canonical" href="http://example.test/">';
    const versions =
      '<link rel="alternate" hreflang="en" href="http://example.test/en"><link rel="alternate" hreflang="de" href="http://example.test/de">';
    const score = (head: string, path: string): unknown =>
      judged({ body: html({ head }) }, `http://example.test${path}`).audits.find(({ id }) => id === 'canonical')!.score;
    expect([score(canonical, '/a'), score(canonical, '/')]).toEqual([0, 1]);
    const other = '<link rel="canonical" href="http://example.test/de">';
    expect([score(versions + other, '/en'), score(versions + other, '/de')]).toEqual([0, 1]);
  });
});

describe('a rule about the site', () => {
  test.each(Object.entries(SITE).flatMap(([id, { pass, fail }]) => [...rows(pass, id, 1), ...rows(fail, id, 0)]))(
    '%s',
    (_name, page, id, score) => {
      const found = judged(page).signals.findings.filter(({ rule }) => rule === id);
      expect(found.length === 0 ? 1 : 0).toBe(score);
    },
  );

  test('is not held against a page that failed', () => {
    expect(judged({ status: 404, body: '' }).signals.findings).toEqual([]);
  });
});

describe('the score', () => {
  // Weights of Lighthouse 13.5.0; is-crawlable has 93/23, so that failing it is 31 % of all.
  const WEIGHTS: Record<string, number> = {
    'is-crawlable': 93 / 23,
    ...{ 'document-title': 1, 'meta-description': 1, 'http-status-code': 1, 'link-text': 1, 'crawlable-anchors': 1 },
    ...{ 'robots-txt': 1, 'image-alt': 1, hreflang: 1, canonical: 1, 'structured-data': 0 },
  };

  test('has the weights of Lighthouse', () => {
    expect(Object.fromEntries(AUDITS.map(({ id, weight }) => [id, weight]))).toEqual(WEIGHTS);
  });

  test.each<[string, string[], string[], number]>([
    ['all pass', [], [], 100],
    ['only is-crawlable fails', ['is-crawlable'], [], 69],
    ['one other fails', ['link-text'], [], 92],
    ['two fail', ['link-text', 'hreflang'], [], 85],
    ['one fails, three do not apply', ['link-text'], ['image-alt', 'canonical', 'robots-txt'], 90],
    ['all fail', Object.keys(WEIGHTS), [], 0],
  ])('%s', (_what, failed, none, expected) => {
    const audits = Object.entries(WEIGHTS).map(([id, weight]) => ({
      weight,
      score: id === 'structured-data' || none.includes(id) ? null : failed.includes(id) ? (0 as const) : (1 as const),
    }));
    expect(scoreOf(audits)).toBe(expected);
  });
});

describe('what is told of a page', () => {
  const long = `http://example.test/${'a'.repeat(2048)}`;
  const signalsOf = (head: string, body = ''): AuditedPage['signals'] => judged({ body: html({ head, body }) }).signals;

  test('no address that is too long is', () => {
    const head = `<link rel="canonical" href="${long}"><link rel="alternate" hreflang="de" href="${long}">
      <link rel="icon" href="${long}"><meta property="og:image" content="${long}">`;
    const { canonical, alternates, links, favicon, socialImage } = signalsOf(
      head,
      `<a href="${long}">x</a><a href="/b">`,
    );
    expect({ canonical, alternates, favicon, socialImage }).toEqual({
      ...{ canonical: null, alternates: [], favicon: null, socialImage: null },
    });
    expect(links.map(({ href }) => href)).toEqual(['http://example.test/b']);
  });

  test('a base that is too long is left aside', () => {
    const [link] = signalsOf(`<base href="${long}/">`, '<a href="b">').links;
    expect(link!.href).toBe('http://example.test/a/b');
  });

  test('an icon may be in the page', () => {
    expect(signalsOf(`<link rel="icon" href="data:image/png;base64,${'A'.repeat(5000)}">`).favicon).toBe('inline');
  });

  test.each([
    ['<img aria-labelledby="x y"><b id="y">A <i>text</i></b>', 1],
    ['<img aria-labelledby="y"><b id="y"><i><u>A text</u></i></b>', 1],
    ['<img aria-labelledby="y"><b id="y" hidden>A text</b>', 1],
    ['<img aria-labelledby="y"><b id="y"><i hidden>A text</i><script>no</script></b>', 0],
    ['<img aria-labelledby="z"><b id="y">A text</b>', 0],
  ])('an image is named by another element: %s', (body, score) => {
    expect(judged({ body: html({ body }) }).audits.find(({ id }) => id === 'image-alt')!.score).toBe(score);
  });
});

describe('texts', () => {
  test.each<[string, Buffer, string | undefined, string]>([
    ['UTF-8 without a word', Buffer.from('<title>Größe'), undefined, '<title>Größe'],
    ['a byte order mark wins', Buffer.from('\ufeff<title>Größe'), 'text/html; charset=iso-8859-1', '<title>Größe'],
    ['UTF-16', Buffer.from('\ufeff<title>Größe', 'utf16le'), undefined, '<title>Größe'],
    ['UTF-16 by header', Buffer.from('<title>Größe', 'utf16le'), 'text/html; charset=utf-16le', '<title>Größe'],
    [
      'the header wins over the page',
      Buffer.from('<meta charset=utf-8>\xe4', 'latin1'),
      'text/html;charset="windows-1252"',
      '<meta charset=utf-8>ä',
    ],
    [
      'the page, where the header is silent',
      Buffer.from('<meta charset="ISO-8859-15">\xa4', 'latin1'),
      'text/html',
      '<meta charset="ISO-8859-15">€',
    ],
    [
      'in the old way',
      Buffer.from('<meta http-equiv=content-type content="text/html; charset=windows-1251">\xcf', 'latin1'),
      undefined,
      '<meta http-equiv=content-type content="text/html; charset=windows-1251">П',
    ],
    ['Shift_JIS', Buffer.from([0x83, 0x65]), 'text/html; charset=Shift_JIS', 'テ'],
    ['GBK', Buffer.from([0xc4, 0xe3]), 'text/html; charset=gbk', '你'],
    ['EUC-KR', Buffer.from([0xb0, 0xa1]), 'text/html; charset=euc-kr', '가'],
    ['an unknown one', Buffer.from('Größe'), 'text/html; charset=klingon', 'Größe'],
    ['bytes that are no UTF-8', Buffer.from([0x61, 0xff, 0x62]), 'text/html; charset=utf-8', 'a\ufffdb'],
    ['a page that says UTF-16 in ASCII', Buffer.from('<meta charset=utf-16>ä'), undefined, '<meta charset=utf-16>ä'],
  ])('%s (S-08)', (_what, body, type, text) => {
    expect(decodeHtml(body, type)).toBe(text);
  });

  test('visible text is as a browser shows it', () => {
    const source = '<p>a<script>no</script> <b>b\n\tc</b><span hidden>no</span><br>d<i aria-hidden="true">no</i> </p>';
    expect(textOf(new Html(source).first('p')!)).toBe('a b c d');
  });

  test.each([
    ['elements', '<p>'.repeat(1_000_000)],
    ['comments', '<!---->'.repeat(500_000)],
    ['attributes', `<a ${Array.from({ length: 300_000 }, (_, i) => `a${i}`).join(' ')}>`],
    // Each block takes all open formatting elements over.
    ['elements that multiply', Array.from({ length: 3000 }, (_, i) => `<p><b id=${i}>`).join('')],
  ])('a page of too many %s is given up', (_what, body) => {
    expect(() => judged({ body })).toThrow(/more than/);
  });

  test.each([
    ['nested', '<div>'.repeat(100_000)],
    ['nested in an svg', `<svg>${'<g>'.repeat(100_000)}`],
    ['with many neighbours', '<p>x</p>'.repeat(150_000)],
    ['of images that name others', '<img aria-labelledby="a b c d e f">'.repeat(60_000)],
    ['of links within links', '<svg>' + '<a href=b>'.repeat(40_000)],
    ['of headings within headings', '<h1><div><h3><div>'.repeat(30_000)],
    ['of links on a long base', `<base href="https://x.test/${'a/'.repeat(500_000)}">${'<a href=b>'.repeat(50_000)}`],
    ['with attributes', `<a ${Array.from({ length: 50_000 }, (_, i) => `a${i}=x`).join(' ')}>`],
  ])('a page that is %s is judged like any other', (_what, body) => {
    expect(judged({ body }).audits).toHaveLength(11);
  });
});
