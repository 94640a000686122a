import { connect, type TLSSocket } from 'node:tls';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { GuardedWeb } from '../../../src/drivers/web/guarded/guarded-web.js';
import type { Edge as WebEdge, WebError } from '../../../src/drivers/web/web.js';
import { startBerth, type Berth } from '../../support/app.js';
import { Caddy } from '../../support/caddy.js';
import { DnsServer } from '../../support/dns-server.js';
import { freePort } from '../../support/free-ports.js';
import { AUTHORITY, BLOCKED, Pebble } from '../../support/pebble.js';
import { until } from '../../support/until.js';
import { PagesClient, type Site } from './pages-client.js';

let dns: DnsServer;
let pebble: Pebble;
let caddy: Caddy;
let berth: Berth;
let client: PagesClient;
let tlsPort: number;

beforeAll(async () => {
  dns = await DnsServer.start();
  tlsPort = await freePort();
  pebble = await Pebble.start({ dns: dns.address, tlsPort });
  caddy = await Caddy.start();
  const env = { ...pebble.env, ...caddy.env, PAGES_HTTPS_PORT: String(tlsPort), DNS_SERVERS: dns.address };
  berth = await startBerth({ processes: [['api'], ['worker']], env });
  client = new PagesClient(berth, await berth.makeAccount());
});
afterAll(async () => {
  client?.close();
  await berth?.close();
  await caddy?.close();
  await pebble?.close();
  await dns?.close();
});

let made = 0;
const OURS = { A: ['127.0.0.1'] };
async function shown(content: string, domain = `site-${++made}.example.test`): Promise<Site> {
  dns.zones.set(domain, OURS);
  const site = await client.shown({ 'index.html': content }, { domain });
  return site;
}

async function tlsOf({ id }: Pick<Site, 'id'>, status: string, by = client): Promise<any> {
  return until(
    `TLS is ${status}`,
    async () => {
      const { tls } = (await by.account.api.get(`/pages/${id}`)).expect(200).body;
      return tls.status === status && tls;
    },
    60_000,
  ).catch((error: Error) => {
    throw new Error(`${error.message}\n${berth.complaints()}\n${caddy.log()}\n${pebble.log()}`);
  });
}

async function handshake(servername: string): Promise<TLSSocket> {
  const socket = connect({ port: tlsPort, host: '127.0.0.1', servername, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  return socket;
}

async function readSecurely(host: string, path = '/'): Promise<string> {
  const socket = await handshake(host);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  return text(socket);
}

test('P-06: a site gets a real certificate, and plain HTTP leads to it from then on', async () => {
  const site = await shown('secured');
  const tls = await tlsOf(site, 'active');
  expect(tls).toMatchObject({ issuer: expect.stringMatching(/Pebble/), error: null });
  expect(Date.parse(tls.notAfter)).toBeGreaterThan(Date.now());
  const socket = await handshake(site.domain);
  expect(socket.getPeerCertificate().subjectaltname).toBe(`DNS:${site.domain}`);
  socket.destroy();
  expect(await readSecurely(site.domain)).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*secured$/);
  // What is sent is what the origin sent, also where that could have sent it in another form.
  const page = 'secured '.repeat(500);
  await client.deploy(site, { 'index.html': page });
  const answer = await readSecurely(site.domain);
  expect(answer.endsWith(page)).toBe(true);
  expect(answer).toMatch(/^content-length: 4000\r$/im);
  expect(answer).toMatch(/^etag: "[0-9a-f]{32}"\r$/im);
  const plain = await client.get(site.domain, '/any?query=1');
  expect([plain.status, plain.headers.location]).toEqual([308, `https://${site.domain}:${tlsPort}/any?query=1`]);
  const { url } = (await client.account.api.get(`/pages/${site.id}`)).expect(200).body;
  expect(url).toBe(`https://${site.domain}:${tlsPort}`);
});

test('P-06: nobody else gets one, and the authority never hears of them', async () => {
  dns.zones.set('*.stranger.test', { A: ['127.0.0.1'] });
  await expect(handshake('www.stranger.test')).rejects.toThrow();
  const inactive = await shown('x');
  (await client.account.api.patch(`/pages/${inactive.id}`, { active: false })).expect(200);
  dns.zones.set('late.example.test', { A: ['127.0.0.1'] });
  expect(pebble.log()).not.toMatch(/stranger\.test/);
});

test('P-06: what the authority refuses is told with its reason', async () => {
  const domain = `www.${BLOCKED}`;
  dns.zones.set(domain, OURS);
  const site = await client.site({ domain });
  const tls = await tlsOf(site, 'failed');
  expect(tls.error).toMatch(/www\.blocked\.test|policy|urn:ietf:params:acme:error/);
  expect(tls).toMatchObject({ issuer: null, notAfter: null });
  expect((await client.get(domain, '/')).status).toBe(404);
});

const verify = ({ id }: Pick<Site, 'id'>) => client.account.api.post(`/pages/${id}/verify`);

test('a domain that leads elsewhere is told so without an attempt; mended and verified, it gets its certificate', async () => {
  const domain = 'mended.example.test';
  dns.zones.set(domain, OURS);
  // Between the check and the certificate the domain comes to lead elsewhere.
  const { pid } = berth.process('worker');
  process.kill(pid!, 'SIGSTOP');
  const site = await client.site({ domain }).finally(() => {
    dns.zones.set(domain, { A: ['192.0.2.1'] });
    process.kill(pid!, 'SIGCONT');
  });
  expect((await tlsOf(site, 'failed')).error).toMatch(/^mended\.example\.test has addresses that are not of this/);
  expect((await verify(site)).expect(400).body).toMatchObject({ code: 'domain_not_pointing', found: ['192.0.2.1'] });
  expect(pebble.log()).not.toMatch(/mended/);
  dns.zones.set(domain, OURS);
  // As after many attempts.
  await berth.database.query(
    'UPDATE sites SET tls_attempts = 9, tls_next_at = NOW(3) + INTERVAL 1 HOUR, dns_lost_at = NOW(3) WHERE id = ?',
    [site.id],
  );
  expect((await verify(site)).expect(200).body.tls).toMatchObject({ status: 'pending', error: null });
  await tlsOf(site, 'active');
  // Again is fine, and disturbs nothing.
  expect((await verify(site)).expect(200).body.tls).toMatchObject({ status: 'active', error: null });
});

test('CAA records that leave us out are told as the reason, and nobody is asked', async () => {
  const above = 'guarded.example.test';
  dns.zones.set(above, { CAA: ['issue other.test', 'issuewild ;'] });
  const site = await shown('guarded', `www.${above}`);
  expect((await tlsOf(site, 'failed')).error).toBe(
    `The CAA records of ${above} let other.test issue certificates, and not ${AUTHORITY}.`,
  );
  // Nor does a visitor have anybody asked.
  await expect(handshake(site.domain)).rejects.toThrow();
  // The nearest name that has any counts.
  dns.zones.set(site.domain, { ...OURS, CAA: ['issue ;'] });
  (await verify(site)).expect(200);
  expect((await tlsOf(site, 'failed')).error).toMatch(/^The CAA records of www\.guarded\.example\.test let nobody/);
  expect(pebble.log()).not.toMatch(/guarded/);
  dns.zones.set(site.domain, {
    ...OURS,
    CAA: [`issue ${AUTHORITY}; validationmethods=tls-alpn-01`, 'issue other.test'],
  });
  (await verify(site)).expect(200);
  await tlsOf(site, 'active');
});

test('an account has so many certificates ordered in a day, whatever becomes of its sites', async () => {
  const greedy = new PagesClient(berth, await berth.makeAccount());
  const domains = ['last.example.test', 'too-many.example.test'];
  for (const domain of domains) dns.zones.set(domain, OURS);
  const budget = '(SELECT 20 + 2 * p.sites FROM plans p JOIN accounts a ON a.plan_id = p.id WHERE a.id = ?)';
  await berth.database.query(
    `INSERT INTO certificate_orders (account_id, domain, ordered_at)
       SELECT ?, CONCAT('d', seq), NOW(3) - INTERVAL 23 HOUR FROM seq_1_to_10000 WHERE seq < ${budget}`,
    [greedy.account.id, greedy.account.id],
  );
  const last = await greedy.site({ domain: domains[0]! });
  await tlsOf(last, 'active', greedy);
  (await greedy.account.api.delete(`/pages/${last.id}`)).expect(204);
  const next = await greedy.site({ domain: domains[1]! });
  expect((await tlsOf(next, 'failed', greedy)).error).toMatch(/^So many certificates were ordered/);
  expect(pebble.log()).not.toMatch(/too-many/);
  // Nobody else waits for that.
  await tlsOf(await shown('another account'), 'active');
  await berth.database.query('UPDATE certificate_orders SET ordered_at = ordered_at - INTERVAL 2 HOUR');
  (await greedy.account.api.post(`/pages/${next.id}/verify`)).expect(200);
  await tlsOf(next, 'active', greedy);
  greedy.close();
});

test('P-06: permission is withdrawn with the site', async () => {
  const site = await shown('gone soon');
  await tlsOf(site, 'active');
  const ask = async (host: string, headers = {}) => {
    const response = await fetch(`http://127.0.0.1:${berth.env['PAGES_ORIGIN_PORT']}/tls/ask?domain=${host}`, {
      headers,
    });
    return response.status;
  };
  expect(await ask(site.domain)).toBe(200);
  expect(await ask(site.domain.toUpperCase())).toBe(404);
  expect(await ask("x' OR '1'='1")).toBe(404);
  // What comes from elsewhere never reaches the question.
  const body = await readSecurely(site.domain, `/tls/ask?domain=${site.domain}`);
  expect(body).toMatch(/^HTTP\/1\.1 404/);
  expect(await ask(site.domain, { 'x-forwarded-for': '192.0.2.1' })).toBe(404);
  (await client.account.api.delete(`/pages/${site.id}`)).expect(204);
  expect(await ask(site.domain)).toBe(404);
  expect(await readSecurely(site.domain)).toMatch(/^HTTP\/1\.1 404/);
});

test('an edge that died gets its settings again, and serves the certificates it had', async () => {
  const site = await shown('after all');
  await tlsOf(site, 'active');
  await caddy.kill();
  await expect(handshake(site.domain)).rejects.toThrow();
  expect((await client.account.api.get(`/pages/${site.id}`)).expect(200).body.tls.status).toBe('active');
  await caddy.start();
  await until('it answers again', () => readSecurely(site.domain).catch(() => null));
  expect(await readSecurely(site.domain)).toMatch(/after all$/);
});

describe('scans of a site whose certificate is a private authority’s', () => {
  let site: Site;
  beforeAll(async () => {
    site = await shown('<!doctype html><title>A page that is served over TLS</title><a href="/second">The second</a>');
    await tlsOf(site, 'active');
  });

  test('get to it over HTTPS, by our own edge', async () => {
    const { api } = client.account;
    const domains = (await api.get('/seo/domains')).expect(200).body as { id: string; domain: string }[];
    const { id } = domains.find(({ domain }) => domain === site.domain)!;
    const audited = (await api.get('/seo/audit', { query: { id, pages: '2' } })).expect(200).body;
    const scanned = (await api.post('/seo/scan', { url: `http://${site.domain}/`, pages: 1 })).expect(201).body;
    for (const { pages, site: rules } of [audited, scanned]) {
      expect(pages[0]).toMatchObject({ url: `https://${site.domain}:${tlsPort}/`, status: 200 });
      expect(rules.find((rule: { id: string }) => rule.id === 'https').findings).toEqual([]);
    }
  });

  test('fail where it is not known; nobody but the edge is believed by it', async () => {
    const rules = { allow: ['127.0.0.1'], deny: [] };
    const web = new GuardedWeb({ rules, resolve: async () => ['127.0.0.1'], userAgent: 'test' });
    const edge = { host: site.domain, address: '127.0.0.1', httpPort: 1, httpsPort: tlsPort };
    const outcome = async (edges: WebEdge[]): Promise<unknown> => {
      const session = web.open(edges);
      const limits = { maxBytes: 1e6, maxDecodedBytes: 1e6, follows: () => false, signal: AbortSignal.timeout(20_000) };
      const url = new URL(`https://${site.domain}:${tlsPort}/`);
      const asked = session.fetch(url, limits).then(
        ({ status }) => status,
        (error: WebError) => error.code,
      );
      return asked.finally(() => session.close());
    };
    expect(await outcome([{ ...edge, ca: pebble.root }])).toBe(200);
    expect(await outcome([edge])).toBe('tls_error');
    expect(await outcome([{ ...edge, host: 'another.example.test', ca: pebble.root }])).toBe('tls_error');
  });

  test('are not begun with a file that cannot be read', async () => {
    const start = startBerth({ roles: ['api'], databaseHost: false, env: { ACME_CA_FILE: '/nowhere/ca.pem' } });
    await expect(start).rejects.toThrow(/ACME_CA_FILE/);
  });
});
