import { createServer, type RequestListener, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { WebError, type WebAnswer } from '../web.js';
import { AddressGuard } from './address-rules.js';
import type { Dial, Resolve } from './connector.js';
import { GuardedWeb } from './guarded-web.js';

/** Public addresses that stand for the test's own server. */
const SITE = '93.184.215.14';
const SITE_V6 = '2606:2800:21f:cb07:6820:80da:af6b:8b2c';

let server: Server;
let serve: RequestListener;
const reached: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(resolve));
});
beforeEach(() => {
  reached.length = 0;
  serve = (_request, response) => response.end('<title>the site</title>');
});

/**
 * All that the guard lets through comes here: what is not the site itself is noted and goes nowhere, so that a guard that fails
 * shows in the test and at nobody's door.
 */
const dial: Dial = (options, callback) => {
  reached.push(options.hostname);
  if (options.hostname !== SITE && options.hostname !== SITE_V6) return callback(new Error('let through'), null);
  const socket: Socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  Object.defineProperty(socket, 'remoteAddress', { value: options.hostname, configurable: true });
  socket.once('connect', () => callback(null, socket));
  socket.once('error', (error) => callback(error, null));
};

const names: Record<string, string[]> = { 'site.test': [SITE], 'six.test': [SITE_V6] };
const resolve: Resolve = async (name) => names[name] ?? [];

async function ask(
  url: string,
  options: { allow?: string[]; resolve?: Resolve; dial?: Dial } = {},
): Promise<WebAnswer> {
  const web = new GuardedWeb({
    rules: { allow: options.allow ?? [], deny: ['198.97.38.0/24'] },
    resolve: options.resolve ?? resolve,
    userAgent: 'test',
    dial: options.dial ?? dial,
  });
  const session = web.open();
  try {
    const limits = { maxBytes: 1e6, maxDecodedBytes: 1e6 };
    return await session.fetch(new URL(url), { ...limits, follows: () => true, signal: AbortSignal.timeout(20_000) });
  } finally {
    await session.close();
  }
}

async function faultOf(asking: Promise<unknown>): Promise<string> {
  const error: unknown = await asking.then(
    () => 'answered',
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof WebError)) throw new Error(`it was not refused: ${String(error)}`);
  return error.code;
}

/** Every way to write an address that is nobody's business, and what each kind of range holds. */
const PRIVATE = [
  ...[
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '2130706433',
    '0x7f.1',
    '0x7f000001',
    '017700000001',
    '0177.0.0.1',
    '127.255.255.254',
  ],
  ...[
    '①②⑦.⓪.⓪.①',
    '127。0。0。1',
    '%31%32%37.0.0.1',
    '0',
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '10.255.255.255',
    '172.16.0.1',
  ],
  ...['172.31.255.255', '192.168.1.1', '100.64.0.1', '100.127.255.254', '169.254.169.254', '0xa9fea9fe', '2852039166'],
  ...[
    '169.254.1.1',
    '192.0.0.1',
    '192.0.2.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.255',
  ],
  ...['240.0.0.1', '255.255.255.255', '168.63.129.16', '198.97.38.7', '192.88.99.1'],
  ...[
    '[::1]',
    '[::]',
    '[0:0:0:0:0:0:0:1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::ffff:169.254.169.254]',
    '[::127.0.0.1]',
  ],
  ...['[::ffff:0:127.0.0.1]', '[fe80::1]', '[fec0::1]', '[fc00::1]', '[fd00:ec2::254]', '[fd12:3456::1]', '[ff02::1]'],
  ...[
    '[64:ff9b::7f00:1]',
    '[64:ff9b::a9fe:a9fe]',
    '[64:ff9b:1::1]',
    '[2002:7f00:1::]',
    '[2002:a9fe:a9fe::1]',
    '[2001::1]',
  ],
  ...[
    '[2001:db8::1]',
    '[2001:10::1]',
    '[2001:20::1]',
    '[3fff::1]',
    '[100::1]',
    '[5f00::1]',
    '[4000::1]',
    '[::ffff:93.184.215.14]',
  ],
  ...['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', 'metadata.localhost.'],
];

describe('addresses that are nobody’s business (S-01)', () => {
  test.each(PRIVATE)('%s is refused, directly and by a redirect', async (host) => {
    expect(await faultOf(ask(`http://${host}/`))).toBe('address_refused');
    expect(await faultOf(ask(`https://${host}/`))).toBe('address_refused');
    expect(reached).toEqual([]);
    const location = `http://${/^[\x21-\x7e]+$/.test(host) ? host : encodeURIComponent(host)}/`;
    serve = (_request, response) => response.writeHead(302, { location }).end();
    expect(await faultOf(ask('http://site.test/'))).toBe('address_refused');
    expect(reached).toEqual([SITE]);
  });

  test.each(
    PRIVATE.filter((host) => /^[\d.]+$/.test(host) && host.split('.').length === 4).concat('::1', 'fe80::1', 'fd00::1'),
  )('a name that leads to %s is refused, and so is one that leads there among others', async (address) => {
    for (const addresses of [[address], [SITE, address], [address, SITE], [SITE_V6, address]]) {
      expect(await faultOf(ask('http://name.test/', { resolve: async () => addresses }))).toBe('address_refused');
    }
    expect(reached).toEqual([]);
  });

  test.each([
    ['http://site.test:8080/', 'port_refused'],
    ['http://site.test:22/', 'port_refused'],
    ['http://127.0.0.1:3306/', 'port_refused'],
    ['https://site.test:80/', 'port_refused'],
    ['http://user@site.test/', 'credentials_refused'],
    ['http://user:secret@site.test/', 'credentials_refused'],
    ['ftp://site.test/', 'scheme_refused'],
    ['file:///etc/passwd', 'scheme_refused'],
    ['gopher://site.test/', 'scheme_refused'],
    ['data:text/html,x', 'scheme_refused'],
    ['javascript:alert(1)', 'scheme_refused'],
    ['http://nobody.test/', 'dns_failed'],
  ])('%s is %s', async (url, code) => {
    expect(await faultOf(ask(url))).toBe(code);
    expect(reached).toEqual([]);
  });

  test('a site that redirects to another port, scheme or user is not followed', async () => {
    for (const [to, code] of [
      ['http://site.test:8080/', 'port_refused'],
      ['ftp://site.test/', 'scheme_refused'],
      ['http://a:b@site.test/', 'credentials_refused'],
    ]) {
      serve = (_request, response) => response.writeHead(301, { location: to! }).end();
      expect(await faultOf(ask('http://site.test/'))).toBe(code);
    }
    expect(reached).toEqual([SITE, SITE, SITE]);
  });

  test('public ones are reached, by the very address that was looked at', async () => {
    expect((await ask('http://site.test/')).status).toBe(200);
    expect((await ask('http://six.test/')).status).toBe(200);
    expect((await ask(`http://[${SITE_V6}]/`)).status).toBe(200);
    expect(reached).toEqual([SITE, SITE_V6, SITE_V6]);
  });

  test('one connection is made to each of several addresses until one answers', async () => {
    const answer = await ask('http://both.test/', { resolve: async () => ['93.184.215.99', SITE] });
    expect([answer.status, reached]).toEqual([200, ['93.184.215.99', SITE]]);
  });

  test('a connection that led elsewhere is dropped', async () => {
    const elsewhere: Dial = (options, callback) =>
      dial(options, (...made) => {
        if (made[1]) Object.defineProperty(made[1], 'remoteAddress', { value: '10.0.0.1' });
        callback(...made);
      });
    expect(await faultOf(ask('http://site.test/', { dial: elsewhere }))).toBe('address_refused');
  });
});

describe('addresses that are named', () => {
  test('are reached on any port; those beside them are not', async () => {
    const noted: string[] = [];
    const note: Dial = (options, callback) => {
      noted.push(`${options.hostname}:${options.port}`);
      callback(new Error('far enough'), null);
    };
    const allow = ['10.1.2.3', '10.9.0.0/16', 'fd00::/64'];
    for (const url of [
      'http://10.1.2.3:8123/',
      'http://10.9.200.1:81/',
      'http://[fd00::7]:8080/',
      'http://10.1.2.3/',
    ]) {
      expect(await faultOf(ask(url, { allow, dial: note }))).toBe('connect_failed');
    }
    expect(noted).toEqual(['10.1.2.3:8123', '10.9.200.1:81', 'fd00::7:8080', '10.1.2.3:80']);
    for (const url of ['http://10.1.2.4/', 'http://127.0.0.1:8123/', 'http://[fd00:0:0:1::7]/']) {
      expect(await faultOf(ask(url, { allow, dial: note }))).toBe('address_refused');
    }
    expect(await faultOf(ask('http://site.test:8080/', { allow, dial: note }))).toBe('port_refused');
    expect(noted).toHaveLength(4);
  });

  test('what is no address is never allowed', () => {
    const guard = new AddressGuard({ allow: ['127.0.0.1'], deny: [] });
    for (const text of ['', 'x', '127.0.0.1%eth0', 'fe80::1%1', '1.2.3.4.5', '2606:2800::1%eth0']) {
      expect(guard.allows(text)).toBe(false);
    }
  });
});

describe('answers', () => {
  test('of redirects there are five at most', async () => {
    for (const [redirects, outcome] of [
      [5, 200],
      [6, 'too_many_redirects'],
      [1000, 'too_many_redirects'],
    ] as const) {
      serve = (request, response) => {
        const at = Number(request.url!.slice(1));
        if (at >= redirects) response.end('there');
        else response.writeHead(307, { location: `/${at + 1}` }).end();
      };
      const asked = ask('http://site.test/0');
      if (typeof outcome === 'string') expect(await faultOf(asked)).toBe(outcome);
      else expect((await asked).hops).toHaveLength(5);
    }
  });

  test('a loop of redirects ends', async () => {
    serve = (_request, response) => response.writeHead(302, { location: '/' }).end();
    expect(await faultOf(ask('http://site.test/'))).toBe('too_many_redirects');
  });

  test('headers without end are no answer', async () => {
    serve = (request) => {
      const { socket } = request;
      socket.write('HTTP/1.1 200 OK\r\n');
      const more = (): boolean => !socket.destroyed && socket.write(`x-more: ${'x'.repeat(1000)}\r\n`);
      const timer = setInterval(more, 1);
      socket.on('close', () => clearInterval(timer)).on('error', () => undefined);
    };
    expect(await faultOf(ask('http://site.test/'))).toBe('bad_response');
  });

  test('what is no HTTP is no answer', async () => {
    serve = (request) => request.socket.end('SSH-2.0-OpenSSH_9.2\r\n');
    expect(['bad_response', 'connect_failed']).toContain(await faultOf(ask('http://site.test/')));
  });

  test('a body that comes byte by byte is given up', async () => {
    serve = (_request, response) => {
      const timer = setInterval(() => response.write('x'), 100);
      response.on('close', () => clearInterval(timer));
    };
    const web = new GuardedWeb({ rules: { allow: [], deny: [] }, resolve, userAgent: 'test', dial });
    const session = web.open();
    const asked = session.fetch(new URL('http://site.test/'), {
      maxBytes: 1e6,
      maxDecodedBytes: 1e6,
      follows: () => true,
      signal: AbortSignal.timeout(700),
    });
    expect(await faultOf(asked)).toBe('timeout');
    await session.close();
  });

  test('no cookie, credential or proxy goes with a request', async () => {
    let seen: object = {};
    serve = (request, response) => {
      seen = request.headers;
      response.setHeader('set-cookie', 'a=b').end('ok');
    };
    const web = new GuardedWeb({ rules: { allow: [], deny: [] }, resolve, userAgent: 'test', dial });
    const session = web.open();
    for (let times = 0; times < 2; times++) {
      const limits = { maxBytes: 1e6, maxDecodedBytes: 1e6, follows: () => true, signal: AbortSignal.timeout(20_000) };
      await session.fetch(new URL('http://site.test/'), limits);
    }
    await session.close();
    expect(Object.keys(seen).sort()).toEqual(['accept', 'accept-encoding', 'connection', 'host', 'user-agent']);
  });
});
