import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { loadConfig } from '../../../src/config/config.js';
import { GuardedWeb } from '../../../src/drivers/web/guarded/guarded-web.js';
import type { Dial } from '../../../src/drivers/web/guarded/connector.js';
import { WebError } from '../../../src/drivers/web/web.js';
import { DnsResolver } from '../../../src/platform/dns/dns-resolver.js';
import { NameServer, type Zone } from './name-server.js';

/** A public address that stands for the test's own server. */
const SITE = '93.184.215.14';
const NOTHING: Zone = () => undefined;

let names: NameServer;
let server: Server;
let resolver: DnsResolver;
const reached: string[] = [];

beforeAll(async () => {
  names = await NameServer.start(NOTHING);
  resolver = new DnsResolver(loadConfig({ DNS_SERVERS: names.address }, '/dev/null'));
  server = createServer((_request, response) => response.setHeader('connection', 'close').end('the site'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  await names.stop();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(() => {
  reached.length = 0;
  names.asked.length = 0;
});

/** Nothing but the site is ever connected to, whatever the guard lets through. */
const dial: Dial = (options, callback) => {
  reached.push(options.hostname);
  if (options.hostname !== SITE) return callback(new Error('let through'), null);
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  Object.defineProperty(socket, 'remoteAddress', { value: SITE });
  socket.once('connect', () => callback(null, socket));
  socket.once('error', (error) => callback(error, null));
};

/** Asks twice with one session; each time what came of it. */
async function askTwice(host: string): Promise<string[]> {
  const web = new GuardedWeb({
    ...{ rules: { allow: [], deny: [] }, userAgent: 'test', dial },
    resolve: (name) => resolver.addresses(name),
  });
  const session = web.open();
  const outcomes: string[] = [];
  for (let times = 0; times < 2; times++) {
    const limits = { maxBytes: 1e6, maxDecodedBytes: 1e6, follows: () => true, signal: AbortSignal.timeout(20_000) };
    const outcome = await session.fetch(new URL(`http://${host}/`), limits).then(
      ({ status }) => String(status),
      (error: unknown) => (error instanceof WebError ? error.code : String(error)),
    );
    outcomes.push(outcome);
  }
  await session.close();
  return outcomes;
}

test('a name that leads to a public address first and to a private one later is refused then', async () => {
  let asked = 0;
  names.zone = (_name, type) => (type === 'A' ? [{ type: 'A', data: asked++ === 0 ? SITE : '127.0.0.1' }] : []);
  expect(await askTwice('rebind.test')).toEqual(['200', 'address_refused']);
  expect(reached).toEqual([SITE]);
});

test('for one connection a name is looked up once', async () => {
  names.zone = (_name, type) => (type === 'A' ? [{ type: 'A', data: SITE }] : []);
  expect(await askTwice('once.test')).toEqual(['200', '200']);
  expect(names.asked.sort()).toEqual(['once.test A', 'once.test A', 'once.test AAAA', 'once.test AAAA']);
});

test.each<[string, Zone]>([
  [
    'a private one among public ones',
    (_n, type) =>
      type === 'A'
        ? [
            { type: 'A', data: SITE },
            { type: 'A', data: '10.0.0.1' },
          ]
        : [],
  ],
  [
    'a private IPv6 one beside a public IPv4 one',
    (_n, type) => (type === 'A' ? [{ type: 'A', data: SITE }] : [{ type: 'AAAA', data: '::1' }]),
  ],
  ['a mapped one', (_n, type) => (type === 'AAAA' ? [{ type: 'AAAA', data: '0:0:0:0:0:ffff:7f00:1' }] : [])],
  ['the cloud’s metadata', (_n, type) => (type === 'A' ? [{ type: 'A', data: '169.254.169.254' }] : [])],
  [
    'a private one through other names',
    (_n, type) =>
      type === 'A'
        ? [
            { type: 'CNAME', data: 'alias.test' },
            { type: 'CNAME', name: 'alias.test', data: 'inside.test' },
            { type: 'A', name: 'inside.test', data: '192.168.0.1' },
          ]
        : [],
  ],
])('a name that leads to %s is refused', async (_what, zone) => {
  names.zone = zone;
  expect(await askTwice('name.test')).toEqual(['address_refused', 'address_refused']);
  expect(reached).toEqual([]);
});

test('a name that does not exist, and a server that does not answer, lead nowhere', async () => {
  names.zone = NOTHING;
  expect(await askTwice('nobody.test')).toEqual(['dns_failed', 'dns_failed']);
  expect(reached).toEqual([]);
});
