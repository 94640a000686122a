import type { IncomingMessage, ServerResponse } from 'node:http';
import { html, type FixturePage } from '../../support/seo-pages.js';
import { FixtureSite } from './fixture-site.js';
import { link, startScanning, type Scanning } from './scanning.js';

let scanning: Scanning;
let site: Scanning['site'];
let other: Scanning['other'];
let scan: Scanning['scan'];
let names: Scanning['names'];

beforeAll(async () => {
  scanning = await startScanning();
  ({ site, other, scan, names } = scanning);
});
afterAll(() => scanning?.stop());

describe('the crawler (S-06)', () => {
  const plain = (...paths: string[]): FixturePage => ({ body: html({ body: link(...paths) }) });

  test('sees each page once, by whatever address it is linked', async () => {
    site.become({
      '/': plain('/a', '/a/', '/a#x', '/b?x=1&y=2', '/b?y=2&x=1', '/', '/c', '//', './a', '/d'),
      '/a': plain('/'),
      '/b': plain(),
      // The same page as /a by its own word.
      '/c': { body: html({ head: '<link rel="canonical" href="/a">' }) },
      '/d': (_request, response) => response.writeHead(301, { location: '/a' }).end(),
    });
    const { pages } = await scan('/', 20);
    expect(pages.map(({ url }: { url: string }) => url.slice(site.url.length)).sort()).toEqual([
      '/',
      '/a',
      '/b?x=1&y=2',
    ]);
  });

  test('sees no more pages than it may, and asks two at a time', async () => {
    const many = Array.from({ length: 50 }, (_, index) => `/${index}`);
    const slow = (_request: unknown, response: ServerResponse): void =>
      void setTimeout(() => response.writeHead(200, { 'content-type': 'text/html' }).end(html()), 20);
    site.become({ '/': plain(...many), ...Object.fromEntries(many.map((path) => [path, slow])) });
    for (const most of [2, 8]) {
      site.asked.length = 0;
      expect((await scan('/', most)).pages).toHaveLength(most);
      // Links to pages that were not crawled are looked after as well, by their head alone.
      expect(site.asked.filter((line) => /^GET \/\d+$/.test(line))).toHaveLength(most - 1);
    }
    expect(site.mostAtOnce).toBeLessThanOrEqual(2);
  });

  test('never leaves the host: of another it asks whether what is named there answers, and robots.txt', async () => {
    other.become({ '*': { body: html({ body: link('/further') }) } });
    site.become({
      '/': {
        body: html({
          head: `<link rel="canonical" href="${other.url}/"><link rel="icon" href="${other.url}/i"><base href="${other.url}/">`,
          body: `${link('relative', `//${other.host}/y`)}<img src="/z">`,
        }),
        robots: `Sitemap: ${other.url}/sitemap.xml\n`,
      },
      '/sitemap.xml': {
        headers: { 'content-type': 'text/xml' },
        body: `<urlset><url><loc>${other.url}/s</loc></url></urlset>`,
      },
    });
    expect((await scan('/', 20)).pages).toHaveLength(1);
    expect(other.asked.sort()).toEqual(['GET /robots.txt', 'HEAD /', 'HEAD /relative', 'HEAD /y']);
    other.asked.length = 0;
    await scan('/');
    expect(other.asked).toEqual([]);
  });

  test('does not follow a page that leads to another host', async () => {
    other.become({ '/': { body: html() } });
    site.become({ '/': plain('/out'), '/out': (_q, r) => r.writeHead(302, { location: other.url }).end() });
    expect((await scan('/', 5)).pages).toHaveLength(1);
    expect(other.asked).toEqual([]);
  });

  test('keeps to robots.txt and to nofollow', async () => {
    const body = html({ body: `${link('/open', '/closed/a')}<a href="/hidden" rel="nofollow">Not this one</a>` });
    site.become({
      '/': { body, robots: 'User-agent: BerthBot\nDisallow: /closed\n' },
      '/open': plain(),
      '/hidden': plain(),
    });
    const { pages } = await scan('/', 20);
    expect(pages).toHaveLength(2);
    expect(site.asked.join()).not.toContain('closed');
    expect(site.asked).not.toContain('GET /hidden');
  });

  test('finds pages by the sitemap, and what is wrong with it', async () => {
    const sitemap = (body: string): FixturePage => ({ headers: { 'content-type': 'application/xml' }, body });
    site.become({
      '/': { body: html(), robots: `Sitemap: ${site.url}/map.xml\n` },
      '/map.xml': sitemap(`<sitemapindex><sitemap><loc>${site.url}/part.xml</loc></sitemap></sitemapindex>`),
      '/part.xml': sitemap(
        `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]><urlset><url><loc>${site.url}/found</loc></url><url><loc>${other.url}/</loc></url></urlset>`,
      ),
      '/found': plain(),
    });
    const report = await scan('/', 5);
    expect(report.pages).toHaveLength(2);
    const rule = report.site.find(({ id }: { id: string }) => id === 'sitemap');
    expect(rule.findings.map(({ reason }: { reason: string }) => reason)).toEqual([
      expect.stringContaining('another host'),
    ]);
  });
});

describe('what a site names on other hosts', () => {
  type Handler = (request: IncomingMessage, response: ServerResponse) => void;
  const answering =
    (get: number, head = get): Handler =>
    (request, response) =>
      void response.writeHead(request.method === 'HEAD' ? head : get, { 'content-type': 'text/html' }).end();
  /** A host of its own for each path: few addresses of one are looked after. */
  const at = (path: string, server = other): string => `http://${path}.localhost:${server.host.split(':')[1]}/${path}`;

  const brokenOf = async (...links: string[]): Promise<Record<string, string>> => {
    site.become({ '/': { body: html({ body: link(...links) }) } });
    const { site: rules } = await scan('/', 2);
    const { findings } = rules.find(({ id }: { id: string }) => id === 'broken-links');
    return Object.fromEntries(findings.map((found: any) => [/href="([^"]*)"/.exec(found.element)![1], found.reason]));
  };

  test('is broken where it is not there; where bots are kept out, nothing is said', async () => {
    const fine = {
      ok: answering(200),
      away: answering(301),
      'get-only': answering(200, 405),
      odd: answering(200, 404),
    };
    const shy = { login: answering(401), closed: answering(403), often: answering(429), later: answering(503) };
    const broken = { missing: answering(404), gone: answering(410), failing: answering(500) };
    const all = { ...fine, ...shy, ...broken };
    other.become(Object.fromEntries(Object.entries(all).map(([path, answer]) => [`/${path}`, answer])));
    const statuses = { missing: 404, gone: 410, failing: 500 };
    const expected = Object.entries(statuses).map(([path, status]) => [
      at(path),
      `${at(path)} answers with status ${status}.`,
    ]);
    expect(await brokenOf(...Object.keys(all).map((path) => at(path)))).toEqual(Object.fromEntries(expected));
  });

  test('is broken where nothing takes the connection or there is no such host, not where a name server fails', async () => {
    const closed = await FixtureSite.start();
    const [url, nobody, unsure] = [at('closed', closed), 'http://nobody.test/', 'http://unsure.test/'];
    await closed.stop();
    names.zones.set('unsure.test', 'SERVFAIL');
    expect(await brokenOf(url, nobody, unsure)).toEqual({
      [url]: `${url} takes no connection.`,
      [nobody]: `${nobody} is on a host that does not exist.`,
    });
  });

  test('is left alone where its robots.txt says so', async () => {
    const strict = await FixtureSite.start({ '/': { robots: 'User-agent: *\nDisallow: /missing\n' } });
    try {
      expect(await brokenOf(at('missing', strict))).toEqual({});
      expect(strict.asked).toEqual(['GET /robots.txt']);
    } finally {
      await strict.stop();
    }
  });

  test('is asked for few times: three of a host, twenty of a scan', async () => {
    other.become({ '*': { body: 'x' } });
    await brokenOf(...Array.from({ length: 10 }, (_, index) => `${other.url}/${index}`));
    expect(other.asked.filter((line) => line.startsWith('HEAD'))).toHaveLength(3);
    other.asked.length = 0;
    await brokenOf(...Array.from({ length: 30 }, (_, index) => at(`h${index}`)));
    expect(other.asked.filter((line) => line.startsWith('HEAD'))).toHaveLength(20);
    expect(other.mostAtOnce).toBeLessThanOrEqual(4);
  });
});
