import { constants, createBrotliCompress, createGzip } from 'node:zlib';
import { Readable } from 'node:stream';
import type { ServerResponse } from 'node:http';
import { startBerth } from '../../support/app.js';
import { setLimits } from '../../support/own-plan.js';
import { until } from '../../support/until.js';
import { html, LIGHTHOUSE, SITE, type FixturePage } from '../../support/seo-pages.js';
import { SITES } from '../../support/seo-sites.js';
import { link, startScanning, type Scanning } from './scanning.js';

let scanning: Scanning;
let site: Scanning['site'];
let person: Scanning['person'];
let scan: Scanning['scan'];

beforeAll(async () => {
  scanning = await startScanning();
  ({ site, person, scan } = scanning);
});
afterAll(() => scanning?.stop());

describe('a scan of one page', () => {
  test('asks for that page and robots.txt, and tells all there is to tell', async () => {
    site.become({ '/': { body: html({ body: `${link('/a')}<img src="x.png"><a href="/a">click here</a>` }) } });
    const report = await scan('/#part');
    expect(site.asked).toEqual(['GET /', 'GET /robots.txt']);
    expect(report).toMatchObject({
      url: `${site.url}/`,
      host: site.host,
      // (93/23 + 5) of (93/23 + 7): two of seven fail, three do not apply.
      score: 82,
      pages: [{ status: 200, truncated: false }],
    });
    const [page] = report.pages;
    expect(page.title).toBe('A page about something in particular');
    const failed = page.audits.filter(({ score }: { score: number }) => score === 0);
    expect(failed.map(({ id }: { id: string }) => id)).toEqual(['link-text', 'image-alt']);
    expect(failed[1].findings).toEqual([
      { element: '<img src="x.png">', reason: expect.any(String), fix: expect.any(String) },
    ]);
    expect(report.site.find(({ id }: { id: string }) => id === 'https').findings).toEqual([
      { page: `${site.url}/`, element: expect.any(String), reason: expect.any(String), fix: expect.any(String) },
    ]);
    expect((await person.readOnly.get(`/seo/scans/${report.id}`)).expect(200).body).toEqual(report);
    expect(site.asked).toHaveLength(2);
  });

  test.each(
    Object.entries(LIGHTHOUSE).flatMap(([id, { pass, fail }]) => [
      [id, 1, pass.at(-1)!.page] as const,
      [id, 0, fail.at(-1)!.page] as const,
    ]),
  )('%s is %i over the wire', async (id, score, page: FixturePage) => {
    site.become({ '/a/page': page, '/robots.txt': page });
    const { pages } = await scan('/a/page');
    expect(pages[0].audits.find((audit: { id: string }) => audit.id === id).score).toBe(score);
  });

  test('a redirect is followed, and the page is judged where it is', async () => {
    site.become({
      '/': (_request, response) => response.writeHead(302, { location: '/b' }).end(),
      '/b': (_request, response) => response.writeHead(302, { location: '/c' }).end(),
      '/c': { body: html() },
    });
    const report = await scan();
    expect(report.pages[0].url).toBe(`${site.url}/c`);
    expect(report.site.find(({ id }: { id: string }) => id === 'redirect-chain').findings).toHaveLength(1);
  });

  test('a page behind robots.txt is judged all the same: it was asked for', async () => {
    site.become({ '/': { body: html(), robots: 'User-agent: *\nDisallow: /\n' } });
    const report = await scan('/', 8);
    expect(report.pages[0].audits[0]).toMatchObject({ id: 'is-crawlable', score: 0 });
    expect(site.asked).toEqual(['GET /', 'GET /robots.txt']);
  });

  test('of a page over the cap the beginning is judged', async () => {
    site.become({ '/': { body: html() + 'x'.repeat(3 * 1_048_576) } });
    const report = await scan();
    expect(report.pages[0]).toMatchObject({ truncated: true, bytes: 2 * 1_048_576 });
    expect(report.pages[0].audits.find(({ id }: { id: string }) => id === 'document-title').score).toBe(1);
  });
});

describe('what comes without end (S-03)', () => {
  /** Zeros without end, through what they are packed with. */
  const endless = (response: ServerResponse, encoding: string, packer: NodeJS.ReadWriteStream): void => {
    response.writeHead(200, { 'content-type': 'text/html', 'content-encoding': encoding });
    const source = new Readable({ read: () => void source.push(Buffer.alloc(65_536)) });
    source.pipe(packer).pipe(response);
    response.on('close', () => source.destroy());
  };

  test.each([
    ['gzip', () => createGzip()],
    ['br', () => createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 4 } })],
  ])('a page packed with %s is cut at its limit', async (encoding, packer) => {
    site.become({ '/': (_request, response) => endless(response, encoding, packer()) });
    const { pages } = await scan();
    expect(pages[0]).toMatchObject({ truncated: true, bytes: 5 * 1_048_576 });
  });

  test('a page, robots.txt and a sitemap are cut at their limits', async () => {
    const flood = (type: string) => (_request: unknown, response: ServerResponse) => {
      response.writeHead(200, { 'content-type': type });
      const source = new Readable({ read: () => void source.push('User-agent: *\n'.repeat(5000)) });
      source.pipe(response);
      response.on('close', () => source.destroy());
    };
    site.become({ '/': flood('text/html'), '/robots.txt': flood('text/plain'), '/sitemap.xml': flood('text/xml') });
    expect((await scan('/', 3)).pages[0].truncated).toBe(true);
  });

  test('others are answered while a page that is hard to read is judged', async () => {
    site.become({ '/': { body: '<div>'.repeat(150_000) } });
    const [report, ...times] = await Promise.all([
      scan(),
      ...Array.from({ length: 5 }, async () => (await person.api.get('/me')).expect(200).status),
    ]);
    expect([report.pages.length, times]).toEqual([1, [200, 200, 200, 200, 200]]);
  });
});

test('a page that comes to too much is given up, and the next one is judged', async () => {
  for (const body of ['<p>'.repeat(600_000), Array.from({ length: 5000 }, (_, i) => `<p><b id=${i}>`).join('')]) {
    site.become({ '/': { body } });
    expect((await person.api.post('/seo/scan', { url: site.url })).expect(422).body.code).toBe('unreadable');
  }
  site.become({ '/': { body: html() } });
  expect((await scan()).score).toBe(100);
});

test('a robots.txt that is hard to read, and a thousand links that it forbids, hold nobody up', async () => {
  const paths = Array.from({ length: 1000 }, (_, index) => `/${String(index).padStart(5, '0')}${'a'.repeat(450)}`);
  const rules = `Disallow: /${'*'.repeat(99_000)}a\n${`Disallow: /*${'a'.repeat(400)}b\n`.repeat(500)}`;
  const robots = `${'User-agent: a\n'.repeat(3000)}User-agent: *\n${rules}`;
  site.become({ '/': { body: html({ body: link(...paths) }), robots } });
  expect((await scan('/', 20)).pages).toHaveLength(1);
  expect(site.asked.filter((line) => line.includes('aaa'))).toEqual([]);
});

test('a page of another account is judged between those of one that has many hard ones', async () => {
  const order: string[] = [];
  const hard = '<img aria-labelledby="a b c d e f">'.repeat(60_000);
  const paths = ['/1', '/2', '/3'];
  const pages = Object.fromEntries(paths.map((path) => [path, { body: html({ body: hard }) }]));
  site.become({ '/': { body: html({ body: link(...paths) }) }, ...pages, '/small': { body: html() } });
  const other = await scanning.berth.makeAccount();
  await setLimits(scanning.berth, other, { scans: 10 });
  const all = scan('/', 4).then(({ pages: judged }) => {
    expect(judged).toHaveLength(4);
    order.push('hard');
  });
  await until('hard pages are judged', () => site.asked.includes('GET /2'));
  await scan('/small', 1, other.api).then(() => order.push('small'));
  await all;
  expect(order).toEqual(['small', 'hard']);
});

describe('a target that is refused (422)', () => {
  test.each([
    ['ftp://example.com/', 'scheme_refused'],
    ['javascript:alert(1)', 'scheme_refused'],
    ['http://user:secret@127.0.0.1/', 'credentials_refused'],
    ['http://nobody.invalid/', 'dns_failed'],
  ])('%s: %s', async (url, code) => {
    const answer = (await person.api.post('/seo/scan', { url })).expect(422);
    expect(answer.body.code).toBe(code);
    expect(answer.text).not.toContain('secret');
  });

  test.each<[string, string, Record<string, FixturePage | ((q: unknown, r: ServerResponse) => void)>]>([
    ['is no page', 'not_html', { '/': { headers: { 'content-type': 'image/png' }, body: 'x' } }],
    ['is no page by its looks', 'not_html', { '/': (_q, r) => r.writeHead(200).end('just text') }],
    ['leads in circles', 'too_many_redirects', { '/': (_q, r) => r.writeHead(302, { location: '/' }).end() }],
    [
      'leads to an address that is too long',
      'address_too_long',
      { '/': (_q, r) => r.writeHead(302, { location: `/${'a'.repeat(2048)}` }).end() },
    ],
    ['speaks no HTTP', 'bad_response', { '/': (_q, r) => r.socket!.end('220 mail ESMTP\r\n') }],
    ['cannot be unpacked', 'bad_response', { '/': { headers: { 'content-encoding': 'gzip' }, body: 'plain' } }],
    ['is packed twice', 'bad_response', { '/': { headers: { 'content-encoding': 'gzip, gzip' }, body: 'plain' } }],
  ])('that %s: %s', async (_what, code, pages) => {
    site.become(pages);
    const answer = (await person.api.post('/seo/scan', { url: site.url })).expect(422);
    expect(answer.body.code).toBe(code);
  });

  test('an address that is not named is refused, though it stands open, and tells nothing', async () => {
    const careful = await startBerth({ roles: ['api'], databaseHost: false, env: { SCAN_ALLOW_ADDRESSES: '' } });
    try {
      const account = await careful.makeAccount();
      site.become({ '/': { body: 'inside' } });
      const [open, closed] = [site.host.split(':')[1]!, '9'];
      const bodies = [];
      for (const url of [
        `http://127.0.0.1:${open}/`,
        `http://127.0.0.1:${closed}/`,
        'http://127.0.0.1/',
        'http://[::1]/',
      ]) {
        const { body } = (await account.api.post('/seo/scan', { url })).expect(422);
        bodies.push([body.code, body.detail]);
      }
      expect(bodies[1]).toEqual(bodies[0]);
      expect(bodies[3]).toEqual(bodies[2]);
      expect([bodies[0]![0], bodies[2]![0]]).toEqual(['port_refused', 'address_refused']);
      expect(site.asked).toEqual([]);
      expect((await account.api.get('/seo/quota')).expect(200).body.used).toBe(0);
    } finally {
      await careful.close();
    }
  });

  test('an address that is too long once encoded is a 400', async () => {
    for (const path of ['a'.repeat(2048), 'ä'.repeat(1000)]) {
      const { errors } = (await person.api.post('/seo/scan', { url: `${site.url}/${path}` })).expect(400).body;
      expect(errors).toEqual([expect.objectContaining({ field: 'url', code: 'max_length' })]);
    }
  });

  test.each([{}, { url: 5 }, { url: '' }, { url: 'example.com' }, { url: '/x' }, { url: 'http://' }])(
    'what is no address is a 400: %j',
    async (body) => {
      const { errors } = (await person.api.post('/seo/scan', body)).expect(400).body;
      expect(errors).toEqual([expect.objectContaining({ field: 'url' })]);
    },
  );

  test.each([0, 21, 1.5, '3', null])('pages: %j is a 400', async (pages) => {
    (await person.api.post('/seo/scan', { url: site.url, pages })).expect(400);
  });
});

describe('the rules about a site, over the wire (S-04)', () => {
  const findingsOf = (report: any, rule: string): any[] =>
    report.site.find(({ id }: { id: string }) => id === rule).findings;

  const served = (page: FixturePage): boolean => !page.secure && !page.redirects;
  test.each(
    Object.entries(SITE).flatMap(([id, { pass, fail }]) => [
      ...pass
        .filter(({ page }) => served(page) && page.firstByteMs !== 800)
        .map(({ what, page }) => [id, 'passes', what, page] as const),
      ...fail.filter(({ page }) => served(page)).map(({ what, page }) => [id, 'fails', what, page] as const),
    ]),
  )('%s %s: %s', async (id, outcome, _what, page) => {
    site.become({ '/a/page': page });
    const found = findingsOf(await scan('/a/page'), id);
    expect(found.length > 0 ? 'fails' : 'passes').toBe(outcome);
  });

  test.each(
    Object.entries(SITES).flatMap(([id, { pass, fail }]) => [
      ...pass.map(({ what, pages }) => [id, 'passes', what, pages] as const),
      ...fail.map(({ what, pages }) => [id, 'fails', what, pages] as const),
    ]),
  )('%s %s: %s', async (id, outcome, _what, pages) => {
    site.become(pages(site.url));
    const found = findingsOf(await scan('/', 5), id);
    expect(found.length > 0 ? 'fails' : 'passes').toBe(outcome);
    for (const { page, element, reason, fix } of found) {
      expect(page).toMatch(`${site.url}/`);
      expect(element).toMatch(/\S/);
      for (const sentence of [reason, fix]) expect(sentence).toMatch(/^.*[.]$/);
    }
  });

  test('what is wrong is told once for each place', async () => {
    site.become({
      '/': { body: html({ body: link('/gone', '/broken', '/gone#again') }) },
      '/broken': { status: 500, body: html() },
    });
    const report = await scan('/', 20);
    expect(findingsOf(report, 'broken-links')).toHaveLength(2);
    expect(report.siteScore).toBeLessThan(90);
  });
});
