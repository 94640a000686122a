import { startBerth, type Berth } from '../../support/app.js';
import { DnsServer } from '../../support/dns-server.js';
import { until } from '../../support/until.js';
import { PagesClient } from './pages-client.js';

let dns: DnsServer;
let berth: Berth;
let one: PagesClient;
let other: PagesClient;

beforeAll(async () => {
  dns = await DnsServer.start();
  const env = {
    DNS_SERVERS: dns.address,
    PUBLIC_ADDRESS: '127.0.0.1,2001:db8::7',
    PAGES_PREVIEW_DOMAIN: 'preview.test',
  };
  berth = await startBerth({ processes: [['api'], ['worker']], env });
  one = new PagesClient(berth, await berth.makeAccount());
  other = new PagesClient(berth, await berth.makeAccount());
});
afterAll(async () => {
  one?.close();
  other?.close();
  await berth?.close();
  await dns?.close();
});

const make = (client: PagesClient, domain: string) => client.account.api.post('/pages', { name: 'A site', domain });
const OURS = { A: ['127.0.0.1'] };
let names = 0;
const fresh = (zone: Parameters<DnsServer['zones']['set']>[1] = OURS, above = 'example.test'): string => {
  const domain = `d${++names}.${above}`;
  dns.zones.set(domain, zone);
  return domain;
};

test.each<[domain: string, code: string]>([
  ['', 'invalid_domain'],
  ['example', 'invalid_domain'],
  ['localhost', 'invalid_domain'],
  ['127.0.0.1', 'invalid_domain'],
  ['0x7f.1', 'invalid_domain'],
  ['[::1]', 'invalid_domain'],
  ['*.example.test', 'invalid_domain'],
  ['https://www.example.test', 'invalid_domain'],
  ['www.example.test/path', 'invalid_domain'],
  ['www.example.test:443', 'invalid_domain'],
  ['..', 'invalid_domain'],
  ['a..test', 'invalid_domain'],
  ['-a.test', 'invalid_domain'],
  ['a_b.example.test', 'invalid_domain'],
  ['co.uk', 'invalid_domain'],
  ['github.io', 'invalid_domain'],
  [`${'a'.repeat(64)}.test`, 'invalid_domain'],
  [`${'a.'.repeat(125)}test`, 'invalid_domain'],
  ['preview.test', 'domain_reserved'],
  ['x.preview.test', 'domain_reserved'],
])('"%s" is refused as %s', async (domain, code) => {
  expect((await make(one, domain)).expect(400).body.errors).toEqual([
    expect.objectContaining({ field: 'domain', code }),
  ]);
});

test.each<[why: string, zone: Parameters<DnsServer['zones']['set']>[1] | null, code: string]>([
  ['unknown', null, 'domain_not_pointing'],
  ['without an address', {}, 'domain_not_pointing'],
  ['elsewhere', { A: ['192.0.2.1'] }, 'domain_not_pointing'],
  ['here and elsewhere', { A: ['127.0.0.1', '192.0.2.1'] }, 'domain_not_pointing'],
  ['here, but elsewhere by IPv6', { A: ['127.0.0.1'], AAAA: ['2001:db8::1'] }, 'domain_not_pointing'],
  ['an alias of what is elsewhere', { CNAME: ['elsewhere.test'] }, 'domain_not_pointing'],
  ['of a server that fails', 'SERVFAIL', 'dns_failed'],
  ['of a server that is silent', 'SILENT', 'dns_failed'],
])('a domain that is %s', async (_why, zone, code) => {
  dns.zones.set('elsewhere.test', { A: ['192.0.2.1'] });
  const domain = zone ? fresh(zone) : 'nobody.example.test';
  expect((await make(one, domain)).expect(400).body.code).toBe(code);
});

test.each<[why: string, zone: Parameters<DnsServer['zones']['set']>[1]]>([
  ['by IPv4', { A: ['127.0.0.1'] }],
  ['by IPv6', { AAAA: ['2001:db8:0::7'] }],
  ['by both', { A: ['127.0.0.1'], AAAA: ['2001:db8::7'] }],
  ['as an alias', { CNAME: ['here.test'] }],
])('a domain that points here %s', async (_why, zone) => {
  dns.zones.set('here.test', OURS);
  const { id } = (await make(one, fresh(zone))).expect(201).body;
  (await one.account.api.delete(`/pages/${id}`)).expect(204);
});

test('one spelling per domain', async () => {
  dns.zones.set('xn--bcher-kva.example.test', OURS);
  const { id, domain } = (await make(one, ' BÜCHER.Example.test. ')).expect(201).body;
  expect(domain).toBe('xn--bcher-kva.example.test');
  expect((await make(one, 'xn--bcher-kva.example.test')).expect(409).body.code).toBe('domain_taken');
  (await one.account.api.delete(`/pages/${id}`)).expect(204);
});

test('P-10: one of two that are at it at once gets the domain', async () => {
  for (let round = 0; round < 8; round++) {
    const domain = fresh();
    const answers = await Promise.all([make(one, domain), make(other, domain), make(one, domain), make(other, domain)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
    for (const { status, body } of answers) if (status === 409) expect(body.code).toBe('domain_taken');
    const rows = await berth.database.query('SELECT account_id AS holder FROM site_domains WHERE domain = ?', [domain]);
    const winner = answers.findIndex(({ status }) => status === 201) % 2 === 0 ? one : other;
    expect(rows).toEqual([{ holder: winner.account.id }]);
    const { id } = answers.find(({ status }) => status === 201)!.body;
    (await winner.account.api.delete(`/pages/${id}`)).expect(204);
  }
});

test('P-09: a domain whose site is gone is not for whoever comes next', async () => {
  const domain = fresh();
  const { id, verification } = (await make(one, domain)).expect(201).body;
  expect(verification).toMatchObject({ name: `_platform-verify.${domain}`, verifiedAt: null });
  expect((await make(other, domain)).expect(409).body.code).toBe('domain_taken');
  (await one.account.api.delete(`/pages/${id}`)).expect(204);
  const held = (await make(other, domain)).expect(409).body;
  expect(held).toMatchObject({ code: 'domain_held', verification: { name: `_platform-verify.${domain}` } });
  expect(Date.parse(held.heldUntil)).toBeGreaterThan(Date.now() + 29 * 24 * 3_600_000);
  // The proof of another account, or of another domain, is none.
  dns.zones.set(verification.name, { TXT: [verification.value, 'berth-verify=0'] });
  (await make(other, domain)).expect(409);
  dns.zones.set(verification.name, { TXT: ['something else', held.verification.value] });
  const taken = (await make(other, domain)).expect(201).body;
  expect(taken.verification.verifiedAt).not.toBeNull();
  // Who is proven to own it owns what is below it.
  expect((await make(one, fresh(OURS, domain))).expect(409).body.code).toBe('domain_locked');
  const below = (await make(other, fresh(OURS, domain))).expect(201).body;
  (await other.account.api.delete(`/pages/${below.id}`)).expect(204);
  (await other.account.api.delete(`/pages/${taken.id}`)).expect(204);
  // Its own holder may have it back, and after 30 days anybody.
  const again = (await make(other, domain)).expect(201).body;
  (await other.account.api.delete(`/pages/${again.id}`)).expect(204);
  dns.zones.delete(verification.name);
  await berth.database.query('UPDATE site_domains SET released_at = released_at - INTERVAL 31 DAY WHERE domain = ?', [
    domain,
  ]);
  const free = (await make(one, domain)).expect(201).body;
  (await one.account.api.delete(`/pages/${free.id}`)).expect(204);
});

test('who proves a domain takes it from the site of somebody who cannot, and from nobody else', async () => {
  const domain = fresh();
  const squat = (await make(one, domain)).expect(201).body;
  const refused = (await make(other, domain)).expect(409).body;
  expect(refused).toMatchObject({ code: 'domain_taken', verification: { name: `_platform-verify.${domain}` } });
  dns.zones.set(refused.verification.name, { TXT: [refused.verification.value] });
  const answers = await Promise.all([make(other, domain), one.account.api.delete(`/pages/${squat.id}`)]);
  expect(answers[0].status).toBe(201);
  expect([204, 404]).toContain(answers[1].status);
  const { id } = answers[0].body;
  (await one.account.api.get(`/pages/${squat.id}`)).expect(404);
  expect((await other.account.api.get(`/pages/${id}`)).expect(200).body.domain).toBe(domain);
  // What is proven stays, whoever else can prove it too.
  dns.zones.set(squat.verification.name, { TXT: [squat.verification.value] });
  expect((await make(one, domain)).expect(409).body).not.toHaveProperty('verification');
  // A day after the proof is gone, it is no proof any more.
  await berth.database.query('UPDATE sites SET dns_next_at = NOW(3) WHERE id = ?', [id]);
  await until('the domain is not proven any more', async () => {
    const { verification } = (await other.account.api.get(`/pages/${id}`)).expect(200).body;
    return verification.verifiedAt === null;
  });
  const mine = (await make(one, domain)).expect(201).body;
  const [event] = await berth.database.query<{ actor: string; properties: object }[]>(
    `SELECT actor_type AS actor, properties FROM activity_events WHERE resource_id = ? AND event = 'site:delete'`,
    [id],
  );
  expect(event).toMatchObject({ actor: 'system', properties: { domain, reason: expect.any(String) } });
  (await other.account.api.get(`/pages/${id}`)).expect(404);
  (await one.account.api.delete(`/pages/${mine.id}`)).expect(204);
});

test('a domain that leads elsewhere for a day gets no certificate, and may come back', async () => {
  const domain = fresh();
  const { id } = (await make(one, domain)).expect(201).body;
  const row = async () =>
    (
      await berth.database.query<{ failed: unknown; lost: unknown; soon: unknown }[]>(
        'SELECT dns_failed_at AS failed, dns_lost_at AS lost, dns_next_at <= NOW(3) AS soon FROM sites WHERE id = ?',
        [id],
      )
    )[0]!;
  const check = async (): Promise<Awaited<ReturnType<typeof row>>> => {
    await berth.database.query('UPDATE sites SET dns_next_at = NOW(3) WHERE id = ?', [id]);
    return until('it was looked at', async () => {
      const now = await row();
      return Number(now.soon) === 0 && now;
    });
  };
  const asked = async () =>
    (await fetch(`http://127.0.0.1:${berth.env['PAGES_ORIGIN_PORT']}/tls/ask?domain=${domain}`)).status;
  expect(await check()).toMatchObject({ failed: null, lost: null });
  // Nobody's handshake orders a certificate; whoever sees to the site says when.
  expect(await asked()).toBe(404);
  await berth.database.query('UPDATE sites SET tls_order_until = NOW(3) + INTERVAL 1 HOUR WHERE id = ?', [id]);
  expect(await asked()).toBe(200);
  dns.zones.set(domain, 'SERVFAIL');
  // No answer says nothing.
  expect(await check()).toMatchObject({ failed: null, lost: null });
  dns.zones.set(domain, { A: ['192.0.2.1'] });
  expect(await check()).toMatchObject({ failed: expect.anything(), lost: null });
  // A second look on the same day does not count.
  expect(await check()).toMatchObject({ lost: null });
  expect(await asked()).toBe(200);
  await berth.database.query('UPDATE sites SET dns_failed_at = dns_failed_at - INTERVAL 24 HOUR WHERE id = ?', [id]);
  expect(await check()).toMatchObject({ lost: expect.anything() });
  expect(await asked()).toBe(404);
  const { tls, active } = (await one.account.api.get(`/pages/${id}`)).expect(200).body;
  expect([active, tls.status, tls.error]).toEqual([true, 'failed', expect.stringMatching(/not pointed here since/)]);
  dns.zones.set(domain, OURS);
  expect(await check()).toMatchObject({ failed: null, lost: null });
  expect(await asked()).toBe(200);
});

test('the plan says how many sites there may be', async () => {
  const small = new PagesClient(berth, await berth.makeAccount('free'));
  const answers = await Promise.all(Array.from({ length: 5 }, () => make(small, fresh())));
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 403, 403, 403]);
  const refused = answers.find(({ status }) => status === 403)!;
  expect(refused.body.limit).toEqual({ name: 'sites', allowed: 2, used: 2, requested: 1 });
  // What is wrong is told before what is too much.
  (await make(small, 'nobody.example.test')).expect(400);
  small.close();
});

test('a domain is looked at 60 times an hour for an account, whichever its sites', async () => {
  const client = new PagesClient(berth, await berth.makeAccount());
  try {
    const sites = await Promise.all(
      [fresh(), fresh()].map(async (domain) => (await make(client, domain)).expect(201).body as { id: string }),
    );
    const ask = (index: number) => client.account.api.post(`/pages/${sites[index % 2]!.id}/verify`);
    const answers = await Promise.all(Array.from({ length: 65 }, (_, index) => ask(index)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(60);
    const refused = (await ask(0)).expect(429);
    expect(refused.body.code).toBe('rate_limited');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3000);
    for (const { id } of sites) (await client.account.api.delete(`/pages/${id}`)).expect(204);
  } finally {
    client.close();
  }
});
