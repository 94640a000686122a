import type { ServerResponse } from 'node:http';
import { setLimits } from '../../support/own-plan.js';
import { html } from '../../support/seo-pages.js';
import { until } from '../../support/until.js';
import { PagesClient, type Site } from '../pages/pages-client.js';
import { startScanning, type Scanning } from './scanning.js';

let scanning: Scanning;
let berth: Scanning['berth'];
let site: Scanning['site'];
let other: Scanning['other'];
let person: Scanning['person'];
let scan: Scanning['scan'];

beforeAll(async () => {
  scanning = await startScanning();
  ({ berth, site, other, person, scan } = scanning);
});
afterAll(() => scanning?.stop());

describe('the plan (S-05)', () => {
  beforeEach(() => void site.become({ '/': { body: html() } }));

  test('of scans at once as many are done as it allows', async () => {
    const account = await berth.makeAccount();
    await setLimits(berth, account, { scans: 3 });
    const outcomes: number[] = [];
    // Two at a time is what an account may have under way.
    for (let round = 0; round < 6; round++) {
      const answers = await Promise.all([1, 2].map(() => account.api.post('/seo/scan', { url: site.url })));
      outcomes.push(...answers.map(({ status }) => status));
    }
    expect(outcomes.filter((status) => status === 201)).toHaveLength(3);
    expect(outcomes.filter((status) => status === 403)).toHaveLength(9);
    expect((await account.readOnly.get('/seo/quota')).expect(200).body).toEqual({ allowed: 3, used: 3, remaining: 0 });
  });

  test('no race gets the last one twice', async () => {
    const account = await berth.makeAccount();
    await setLimits(berth, account, { scans: 1 });
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => account.api.post('/seo/scan', { url: site.url })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const answer of answers) expect([201, 403]).toContain(answer.status);
    const refused = answers.find(({ status }) => status === 403)!;
    expect(refused.body).toMatchObject({ code: 'quota_exceeded', limit: { name: 'scans', allowed: 1, used: 1 } });
  });

  test('a plan without scans is 403, whatever the address', async () => {
    const account = await berth.makeAccount('free');
    for (const url of [site.url, 'http://10.0.0.1/', 'ftp://x/'])
      (await account.api.post('/seo/scan', { url })).expect(403);
    (await account.api.post('/seo/scan', { url: 'x' })).expect(400);
    expect(site.asked).toEqual([]);
  });

  test('what fails costs nothing; what is deleted is not given back; after 30 days it counts no more', async () => {
    const account = await berth.makeAccount();
    await setLimits(berth, account, { scans: 2 });
    const used = async (): Promise<number> => (await account.api.get('/seo/quota')).expect(200).body.used as number;
    (await account.api.post('/seo/scan', { url: `${site.url.replace('http:', 'ftp:')}` })).expect(422);
    expect(await used()).toBe(0);
    const { id } = await scan('/', 1, account.api);
    (await account.api.delete(`/seo/scans/${id}`)).expect(204);
    (await account.api.get(`/seo/scans/${id}`)).expect(404);
    expect(await used()).toBe(1);
    await scan('/', 1, account.api);
    (await account.api.post('/seo/scan', { url: site.url })).expect(403);
    const age = (hours: number): Promise<unknown> =>
      berth.database.query('UPDATE seo_scan_uses SET used_at = NOW(3) - INTERVAL ? HOUR WHERE account_id = ?', [
        hours,
        account.id,
      ]);
    await age(30 * 24 - 1);
    expect(await used()).toBe(2);
    await age(30 * 24 + 1);
    expect(await used()).toBe(0);
    await scan('/', 1, account.api);
    expect(await used()).toBe(1);
  });

  test('a place that was kept by a process that died falls free', async () => {
    const account = await berth.makeAccount();
    await setLimits(berth, account, { scans: 1 });
    await scan('/', 1, account.api);
    await berth.database.query('UPDATE seo_scan_uses SET settled = 0 WHERE account_id = ?', [account.id]);
    (await account.api.post('/seo/scan', { url: site.url })).expect(403);
    await berth.database.query('UPDATE seo_scan_uses SET used_at = NOW(3) - INTERVAL 11 MINUTE WHERE account_id = ?', [
      account.id,
    ]);
    await scan('/', 1, account.api);
  });

  test('an account has two scans under way at most', async () => {
    const account = await berth.makeAccount();
    const waiting: ServerResponse[] = [];
    site.become({ '/': (_request, response) => void waiting.push(response) });
    const first = [1, 2].map(() => account.api.post('/seo/scan', { url: site.url }));
    await until('both are under way', () => waiting.length === 2);
    const third = (await account.api.post('/seo/scan', { url: site.url })).expect(429);
    expect([third.body.code, third.header('retry-after')]).toEqual(['too_many_scans', '10']);
    for (const response of waiting) response.writeHead(200, { 'content-type': 'text/html' }).end(html());
    // Afterwards robots.txt is asked for as well, and answered with 404 by the fixture.
    site.pages = {};
    for (const answer of await Promise.all(first)) answer.expect(201);
    expect((await account.api.get('/seo/quota')).expect(200).body.used).toBe(2);
  });
});

describe('the history', () => {
  test('lists scans by host, newest first, and their scores, oldest first', async () => {
    const account = await berth.makeAccount();
    site.become({ '/': { body: html() } });
    other.become({ '/': { body: '<p>x' } });
    const ids: string[] = [];
    for (const url of [site.url, other.url, site.url]) {
      ids.push((await account.api.post('/seo/scan', { url })).expect(201).body.id as string);
    }
    const list = async (query: Record<string, string>): Promise<any[]> =>
      (await account.readOnly.get('/seo/scans', { query })).expect(200).body as any[];
    expect((await list({})).map(({ id }) => id)).toEqual([...ids].reverse());
    expect((await list({ host: site.host })).map(({ id }) => id)).toEqual([ids[2], ids[0]]);
    expect((await list({ limit: '1' })).map(({ id }) => id)).toEqual([ids[2]]);
    for (const host of ['nobody.test', 'a/b', '%', "' OR 1=1 --"]) expect(await list({ host })).toEqual([]);
    expect(Object.keys((await list({}))[0]).sort()).toEqual(
      ['createdAt', 'durationMs', 'host', 'id', 'pageCount', 'score', 'siteScore', 'url'].sort(),
    );
    const series = (await account.readOnly.get('/seo/history', { query: { host: site.host } })).expect(200).body;
    expect(series.map(({ scanId }: { scanId: string }) => scanId)).toEqual([ids[0], ids[2]]);
    expect(series[0]).toEqual({ at: expect.any(String), scanId: ids[0], score: 100, siteScore: expect.any(Number) });
    (await account.api.get('/seo/history')).expect(400);
  });

  test('has the newest 300 of each account', async () => {
    const account = await berth.makeAccount();
    await setLimits(berth, account, { scans: 10 });
    site.become({ '/': { body: html() } });
    const { id: first } = await scan('/', 1, account.api);
    const { id: others } = await scan();
    await berth.database.query(
      `INSERT INTO seo_scans (id, account_id, host, url, score, site_score, pages, duration_ms, report, created_at)
       SELECT CONCAT('scn_', LPAD(seq, 26, '0')), account_id, host, url, score, site_score, pages, duration_ms, report, created_at
         FROM seo_scans JOIN seq_1_to_310 WHERE id = ?`,
      [first],
    );
    const { id: newest } = await scan('/', 1, account.api);
    const rows = await berth.database.query('SELECT id FROM seo_scans WHERE account_id = ? ORDER BY id DESC', [
      account.id,
    ]);
    expect(rows).toHaveLength(300);
    expect(rows.slice(0, 2)).toEqual([{ id: newest }, { id: first }]);
    expect(rows.at(-1)).toEqual({ id: `scn_${'13'.padStart(26, '0')}` });
    (await person.api.get(`/seo/scans/${others}`)).expect(200);
  });

  test('is nobody else’s', async () => {
    site.become({ '/': { body: html() } });
    const [{ id }, stranger] = [await scan(), await berth.makeAccount()];
    for (const path of [`/seo/scans/${id}`, `/seo/scans/${id}/report`]) (await stranger.api.get(path)).expect(404);
    (await stranger.api.delete(`/seo/scans/${id}`)).expect(404);
    expect((await stranger.api.get('/seo/scans')).expect(200).body).toEqual([]);
    expect((await stranger.api.get('/seo/history', { query: { host: site.host } })).expect(200).body).toEqual([]);
    (await person.api.get(`/seo/scans/${id}`)).expect(200);
  });

  test('a report as a page is one file, in which nothing of the site’s comes alive', async () => {
    const evil = '<script>alert(1)</script><img src=x onerror=alert(1)>';
    site.become({
      '/': { body: html({ title: `<title>${evil}</title>`, body: `<a href="/'&quot;><script>">here</a>` }) },
    });
    const { id } = await scan();
    const answer = (await person.readOnly.get(`/seo/scans/${id}/report`)).expect(200);
    expect(answer.mediaType).toBe('text/html');
    expect(answer.header('content-security-policy')).toContain("default-src 'none'");
    expect(answer.text).toContain('&lt;script&gt;alert(1)');
    expect(answer.text).not.toMatch(/<script|<img|onerror=alert\(1\)>[^&]|\bsrc=["']?http|@import|url\(/);
  });
});

describe('own domains', () => {
  test('of an account without sites there are none, and nobody else’s can be audited', async () => {
    expect((await person.readOnly.get('/seo/domains')).expect(200).body).toEqual([]);
    for (const id of ['x', 'pag_01j9z6m3k4v5w6x7y8z9a0b1c2']) {
      (await person.api.get('/seo/audit', { query: { id, pages: '1' } })).expect(404);
    }
    for (const query of [{}, { id: 'x', pages: '0' }, { id: 'x', pages: '9' }, { id: 'x', pages: 'many' }]) {
      (await person.api.get('/seo/audit', { query: query as Record<string, string> })).expect(400);
    }
  });

  describe('of an account with sites', () => {
    let client: PagesClient;
    let mine: Site;

    beforeAll(async () => {
      client = new PagesClient(berth, await berth.makeAccount());
      await setLimits(berth, client.account, { scans: 0 });
      mine = await client.shown({
        'index.html': html({ body: '<a href="/second">A second page</a>' }),
        'second.html': html({ title: '<title>The second page of this site</title>' }),
      });
    });
    afterAll(() => client?.close());

    test('they are scanned for nothing, by every address of theirs, whatever the plan', async () => {
      const { api, readOnly } = client.account;
      const { url } = (await readOnly.get(`/pages/${mine.id}`)).expect(200).body as { url: string };
      for (const address of [
        `http://${mine.domain}/`,
        url,
        `http://${mine.domain.toUpperCase()}`,
        `http://${mine.domain}./`,
      ]) {
        const report = (await api.post('/seo/scan', { url: address, pages: 5 })).expect(201).body;
        expect(report.pages.map(({ status }: { status: number }) => status)).toEqual([200, 200]);
        (await readOnly.get(`/seo/scans/${report.id}`)).expect(200);
      }
      expect((await readOnly.get('/seo/quota')).expect(200).body).toEqual({ allowed: 0, used: 0, remaining: 0 });
      // What is on another port of that name is not the site.
      (await api.post('/seo/scan', { url: `http://${mine.domain}:${berth.env['PORT']}/` })).expect(403);
      (await api.post('/seo/scan', { url: `ftp://${mine.domain}/` })).expect(403);
    });

    test('they are listed, and audited without being kept', async () => {
      const { api, readOnly } = client.account;
      const [entry] = (await readOnly.get('/seo/domains')).expect(200).body;
      expect(entry).toEqual({ id: expect.any(String), domain: mine.domain, siteId: mine.id });
      const kept = (await readOnly.get('/seo/scans')).expect(200).body.length;
      const audit = (await readOnly.get('/seo/audit', { query: { id: entry.id, pages: '1' } })).expect(200).body;
      expect(audit).toMatchObject({ id: null, pages: [{ status: 200 }] });
      expect((await readOnly.get('/seo/scans')).expect(200).body).toHaveLength(kept);

      (await person.api.get('/seo/audit', { query: { id: entry.id, pages: '1' } })).expect(404);
      (await api.delete(`/pages/${mine.id}`)).expect(204);
      expect((await readOnly.get('/seo/domains')).expect(200).body).toEqual([]);
      (await api.get('/seo/audit', { query: { id: entry.id, pages: '1' } })).expect(404);
      (await api.post('/seo/scan', { url: `http://${mine.domain}/` })).expect(403);
    });
  });
});
