import { until } from '../support/until.js';
import { answersIn, type BrokerClient } from './support/broker-client.js';
import { type Hosting, onEngine } from './support/hosting.js';
import { OF_ONE, OF_TWO, TwoTenants } from './support/two-tenants.js';

onEngine('the secrets broker', () => {
  let tenants: TwoTenants;
  let hosting: Hosting;
  let one: BrokerClient;
  let two: BrokerClient;

  beforeAll(async () => {
    tenants = await TwoTenants.start();
    hosting = tenants.hosting;
    [one, two] = [tenants.one.program, tenants.two.program];
  }, 180_000);
  afterAll(() => tenants?.close());

  describe('what a program gets', () => {
    test('its own secrets and no others, recorded with its address', async () => {
      expect(await one.secrets()).toEqual(OF_ONE);
      expect(await two.secrets()).toEqual(OF_TWO);
      expect((await tenants.access(tenants.one))[0]).toMatchObject({
        via: 'broker',
        address: await one.address(),
        keys: ['OWN', 'SHARED', 'TRICKY'],
        refused: false,
      });
      expect((await tenants.access(tenants.two))[0]).toMatchObject({ address: await two.address(), keys: ['OWN'] });
    });

    test('in the form of the contract, and never to be stored', async () => {
      const { status, headers, body } = await one.ask('/v1/secrets');
      expect([status, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
      expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
      expect(headers).not.toHaveProperty('access-control-allow-origin');
      expect(Number(headers['content-length'])).toBe(Buffer.byteLength(body));
      const head = await one.ask('/v1/secrets', {}, 'HEAD');
      expect([head.status, head.body, head.headers['content-length']]).toEqual([200, '', headers['content-length']]);
    });

    test('as lines of a .env file, with the keys that not every reader takes for the same', async () => {
      const { status, headers, body } = await one.ask('/v1/env');
      expect([status, headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8']);
      expect(headers['x-vault-nonportable']).toBe('TRICKY');
      expect(body).toMatch(/^OWN=canary-one\nSHARED=canary-shared\nTRICKY="/);
      expect((await two.ask('/v1/env')).body).toBe('OWN=canary-two\n');
    });

    test('whether the broker knows it, which is no read', async () => {
      const before = (await tenants.access(tenants.one)).length;
      expect(JSON.parse((await one.ask('/v1/health')).body)).toEqual({ ok: true, service: one.serverId });
      expect(JSON.parse((await two.ask('/v1/health')).body)).toEqual({ ok: true, service: two.serverId });
      expect(await tenants.access(tenants.one)).toHaveLength(before);
    });

    test('from the first moment on, and the new value when it was replaced', async () => {
      (await tenants.two.api.put(`/servers/${two.serverId}/vault`, { key: 'OWN', value: 'canary-newer' })).expect(200);
      expect(await two.secrets()).toEqual({ OWN: 'canary-newer' });
      (await tenants.two.api.put(`/servers/${two.serverId}/vault`, { key: 'OWN', value: 'canary-two' })).expect(200);
    });
  });

  describe('requests that are refused', () => {
    test.each([
      ['X-Forwarded-For', '10.0.0.1', 'forwarded'],
      ['Forwarded', 'for=10.0.0.1', 'forwarded'],
      ['Via', '1.1 proxy', 'forwarded'],
      ['X-Real-IP', '10.0.0.1', 'forwarded'],
      ['Origin', 'http://evil.example', 'browser'],
      ['Sec-Fetch-Site', 'cross-site', 'browser'],
      ['Host', 'vault.example:7458', 'host'],
      ['Host', '127.0.0.1:7458', 'host'],
    ])('with %s: %s', async (name, value, reason) => {
      const address = await two.address();
      const given = value === '10.0.0.1' ? address : value;
      const { status, headers, body } = await one.ask('/v1/secrets', { [name]: given });
      expect([status, headers['content-type']]).toEqual([403, 'application/problem+json']);
      expect(body).not.toContain('canary-');
      expect(headers['cache-control']).toBe('no-store');
      await until('the refusal in the log', async () => {
        const [newest] = await tenants.access(tenants.one);
        return newest?.refused === true && newest.reason === reason && newest.keys.length === 0;
      });
    });

    test.each(['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])('by %s', async (method) => {
      const { status, headers } = await one.ask('/v1/secrets', { 'Content-Length': '0' }, method);
      expect([status, headers['allow']]).toEqual([405, 'GET, HEAD']);
    });

    test('without a Host, with two, to another path, as to a proxy', async () => {
      expect((await one.ask('/v1/secrets', { Host: null })).status).toBe(400);
      const twice = `GET /v1/secrets HTTP/1.1\r\nHost: ${hosting.gateway}\r\nHost: evil\r\nConnection: close\r\n\r\n`;
      expect(answersIn((await one.send(twice)).text)[0]?.status).toBeGreaterThanOrEqual(400);
      expect((await one.ask('/v1/other')).status).toBe(404);
      expect((await one.ask('/')).status).toBe(404);
      expect((await one.ask(`http://${hosting.gateway}:7458/v1/secrets`)).status).toBe(400);
    });

    test('each of those sent one after another is looked at by itself', async () => {
      const good = one.request('/v1/secrets');
      const bad = one.request('/v1/secrets', { 'X-Forwarded-For': '1.2.3.4' });
      const answers = answersIn((await one.send(good + good + bad + good)).text);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 403]);
      expect(JSON.parse(answers[0]!.body)).toEqual(OF_ONE);
      expect(answers[2]!.body).not.toContain('canary-');
    });

    test('a request hidden in the body of another is none', async () => {
      const hidden = one.request('/v1/secrets');
      const { text } = await one.send(one.request('/v1/health', { 'Content-Length': String(hidden.length) }) + hidden);
      expect(text).not.toContain('canary-');
      expect(answersIn(text)).toHaveLength(1);
    });

    test('a megabyte of headers, and endless ones, end the connection and nothing else', async () => {
      const { text } = await one.send(one.request('/v1/secrets', { 'X-Padding': '<padding>' }), { padding: 2 ** 20 });
      expect(text === '' || text.startsWith('HTTP/1.1 431')).toBe(true);
      expect((await one.ask(`/v1/secrets?${'x'.repeat(9000)}`).catch(() => ({ status: 431 }))).status).toBe(431);
      const { how } = await one.send('GET /v1/secrets HTTP/1.1\r\nHost: x\r\nX-Slow: ', { seconds: 12 });
      expect(how).not.toMatch(/timeout/i);
      expect(await one.secrets()).toEqual(OF_ONE);
    }, 30_000);

    test('more connections at the same time than one may have, and not those of others', async () => {
      const held = `
import socket, sys
held = []
answers = {}
for _ in range(70):
    s = socket.create_connection((sys.argv[1], 7458), 3)
    s.settimeout(3)
    s.sendall(sys.argv[2].encode().decode('unicode_escape').encode())
    held.append(s)
    status = s.recv(65536)[9:12].decode()
    answers[status] = answers.get(status, 0) + 1
print(answers['200'], answers['429'])`;
      const request = JSON.stringify(one.request('/v1/health')).slice(1, -1);
      expect(await one.python(held, hosting.gateway, request)).toBe('64 6');
      expect(await two.secrets()).toEqual(OF_TWO);
    });

    test('more reads in a minute than the operator allows', async () => {
      const many = `
import http.client, sys, collections
statuses = collections.Counter()
connection = http.client.HTTPConnection(sys.argv[1], 7458, timeout=10)
for _ in range(640):
    connection.request('GET', '/v1/secrets')
    answer = connection.getresponse()
    answer.read()
    statuses[answer.status] += 1
print(dict(statuses), answer.headers['Retry-After'])`;
      const [, served, refused, wait] = /200: (\d+), 429: (\d+)\} (\d+)/.exec(await two.python(many, hosting.gateway))!;
      expect(Number(served)).toBeLessThanOrEqual(600);
      expect(Number(served)).toBeGreaterThan(500);
      expect(Number(served) + Number(refused)).toBe(640);
      expect(Number(wait)).toBeGreaterThan(0);
      expect(await one.secrets()).toEqual(OF_ONE);
      const rows = await hosting.rows<{ n: number | string }>(
        'SELECT COUNT(*) AS n FROM vault_reads WHERE server_id = ? AND refused IS NULL',
        [two.serverId],
      );
      expect(Number(rows[0]!.n)).toBe(600);
    }, 60_000);
  });
});
