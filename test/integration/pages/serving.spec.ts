import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { startBerth, type Berth } from '../../support/app.js';
import { PagesClient, type Site } from './pages-client.js';

let berth: Berth;
let client: PagesClient;

beforeAll(async () => {
  berth = await startBerth({ roles: ['api'], env: { PAGES_PREVIEW_DOMAIN: 'preview.localhost' } });
  client = new PagesClient(berth, await berth.makeAccount());
});
afterAll(async () => {
  client?.close();
  await berth?.close();
});

const LONG = 'all work and no play makes a dull page. '.repeat(200);
const FILES = {
  'index.html': `home ${LONG}`,
  'about.html': 'about',
  'docs/index.html': 'docs',
  'docs/guide.html': 'guide',
  'docs/404.html': 'no such doc',
  '404.html': 'lost',
  'twin.html': 'the page',
  twin: 'the file',
  'app.3f2a9c1e.js': `run("${LONG}")`,
  'style.css': 'a{}',
  'data.bin': Buffer.from(Array.from({ length: 5000 }, (_, i) => i % 251)),
  'ünïcode name.txt': 'unicode',
  'empty.txt': '',
  _redirects: [
    '# comment',
    '/old /new',
    '/gone /about 302',
    '/blog/:year/:slug /posts/:slug?y=:year 301',
    '/wild/* /caught/:splat 307',
    '/out/* https://elsewhere.example/:splat',
    '/about /never',
    '/style.css /forced.css 302!',
    '/rewrite /docs/guide 200',
    '/missing/* /404.html 404',
    '/proxy/* http://169.254.169.254/:splat 200',
    '/evil/* /:splat',
    '/cond /x 302 Country=de',
  ].join('\n'),
  _headers: [
    '/*',
    '  X-Everywhere: yes',
    '  Set-Cookie: a=b',
    '/docs/*',
    '  X-Docs: :splat',
    '  Cache-Control: public, max-age=60',
    '/*.css',
    '  X-Css: 1',
    '  Content-Length: 1',
    '  Transfer-Encoding: chunked',
    '/about',
    '  ! X-Content-Type-Options',
    '  X-Everywhere: twice',
  ].join('\n'),
};

/** What is answered to a request of these lines. */
async function asked(...lines: string[]): Promise<string> {
  const socket = connect(Number(berth.env['PAGES_HTTP_PORT']), '127.0.0.1');
  socket.write([...lines, 'Connection: close', '', ''].join('\r\n'));
  return text(socket);
}

describe('a site', () => {
  let site: Site;
  beforeAll(async () => {
    site = await client.shown(FILES);
  });
  const get = (path: string, headers = {}, method = 'GET') => client.get(site.domain, path, headers, method);

  test.each<[path: string, status: number, textOrLocation: string]>([
    ['/', 200, FILES['index.html']],
    ['/index.html', 308, '/'],
    ['/about', 200, 'about'],
    ['/about.html', 308, '/about'],
    ['/about.html?q=1', 308, '/about?q=1'],
    ['/about/', 308, '/about'],
    ['/docs', 308, '/docs/'],
    ['/docs?a=b', 308, '/docs/?a=b'],
    ['/docs/', 200, 'docs'],
    ['/docs/index.html', 308, '/docs/'],
    ['/docs/guide', 200, 'guide'],
    ['/docs/nothing', 404, 'no such doc'],
    ['/docs/deeper/nothing', 404, 'no such doc'],
    ['/nothing', 404, 'lost'],
    ['/twin', 200, 'the file'],
    ['/twin.html', 200, 'the page'],
    ['/%C3%BCn%C3%AFcode%20name.txt', 200, 'unicode'],
    ['/empty.txt', 200, ''],
    ['/_redirects', 404, 'lost'],
    ['/_headers', 404, 'lost'],
    ['/old', 301, '/new'],
    ['/old/', 301, '/new'],
    ['/old?x=1', 301, '/new?x=1'],
    ['/gone', 302, '/about'],
    ['/blog/2024/my%20post', 301, '/posts/my%20post?y=2024'],
    ['/wild/a/b', 307, '/caught/a/b'],
    ['/wild', 307, '/caught/'],
    ['/out/%0d%0aSet-Cookie:x', 301, 'https://elsewhere.example/%0D%0ASet-Cookie%3Ax'],
    ['/style.css', 302, '/forced.css'],
    ['/rewrite', 200, 'guide'],
    ['/missing/x', 404, 'lost'],
    ['/proxy/latest/meta-data', 404, 'lost'],
    ['/evil//elsewhere.example', 301, '/elsewhere.example'],
    ['/evil/%5celsewhere.example', 301, '/%5Celsewhere.example'],
    ['/cond', 404, 'lost'],
    ['//elsewhere.example/about.html', 404, 'lost'],
    ['/docs/../about', 404, 'no such doc'],
    ['/%2e%2e/about', 404, 'lost'],
    ['/__proto__', 404, 'lost'],
    ['/constructor', 404, 'lost'],
  ])('%s', async (path, status, expected) => {
    const got = await get(path);
    expect([got.status, got.headers.location ?? got.text]).toEqual([status, expected]);
    expect(got.headers['set-cookie']).toEqual(status < 300 || status === 404 ? ['a=b'] : undefined);
  });

  test('what is no UTF-8 is refused', async () => {
    expect((await get('/%ff')).status).toBe(400);
    expect((await get('/%')).status).toBe(400);
  });

  test('headers by _headers, and none that belong to the body or the connection', async () => {
    const guide = await get('/docs/guide');
    expect(guide.headers).toMatchObject({
      'x-everywhere': 'yes',
      'x-docs': 'guide',
      'cache-control': 'public, max-age=60',
      'content-length': '5',
    });
    const about = await get('/about');
    expect(about.headers['x-everywhere']).toBe('yes, twice');
    expect(about.headers['x-content-type-options']).toBeUndefined();
  });

  test('caching: pages are asked for again, hashed names never', async () => {
    expect((await get('/')).headers['cache-control']).toBe('public, max-age=0, must-revalidate');
    expect((await get('/app.3f2a9c1e.js')).headers['cache-control']).toBe('public, max-age=31536000, immutable');
    const { headers } = await get('/');
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'content-type': 'text/html; charset=utf-8' });
    expect((await get('/', { 'if-none-match': headers.etag! })).status).toBe(304);
    expect((await get('/', { 'if-none-match': `"x", W/${headers.etag}` })).status).toBe(304);
    expect((await get('/', { 'if-none-match': '"other"' })).status).toBe(200);
    expect((await get('/', { 'if-match': '"other"' })).status).toBe(412);
  });

  test.each<[accept: string, encoding: string | undefined]>([
    ['gzip, deflate, br', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['*', 'br'],
    ['br;q=0, *', 'gzip'],
    ['identity', undefined],
    ['', undefined],
  ])('Accept-Encoding "%s" is answered in %s', async (accept, encoding) => {
    const got = await get('/', { 'accept-encoding': accept });
    expect(got.headers['content-encoding']).toBe(encoding);
    expect(got.headers.vary).toBe('Accept-Encoding');
    expect(Number(got.headers['content-length'])).toBe(got.bytes.length);
    const plain = encoding === 'br' ? brotliDecompressSync(got.bytes) : encoding ? gunzipSync(got.bytes) : got.bytes;
    expect(plain.toString()).toBe(FILES['index.html']);
    const head = await get('/', { 'accept-encoding': accept }, 'HEAD');
    expect([head.status, head.bytes.length, head.headers.etag]).toEqual([200, 0, got.headers.etag]);
    expect(head.headers['content-length']).toBe(got.headers['content-length']);
  });

  test('forms of one content have tags of their own', async () => {
    const tags = await Promise.all(
      ['br', 'gzip', ''].map(async (accept) => (await get('/', { 'accept-encoding': accept })).headers.etag),
    );
    expect(new Set(tags).size).toBe(3);
  });

  test('parts', async () => {
    const all = (await get('/data.bin')).bytes;
    expect(all.equals(FILES['data.bin'])).toBe(true);
    const part = await get('/data.bin', { range: 'bytes=100-199' });
    expect([part.status, part.headers['content-range']]).toEqual([206, 'bytes 100-199/5000']);
    expect(part.bytes.equals(all.subarray(100, 200))).toBe(true);
    // Of the content itself, whatever could be sent instead.
    const page = await get('/', { range: 'bytes=0-3', 'accept-encoding': 'br' });
    expect([page.status, page.text, page.headers['content-encoding']]).toEqual([206, 'home', undefined]);
    const beyond = await get('/data.bin', { range: 'bytes=5000-' });
    expect([beyond.status, beyond.headers['content-range']]).toEqual([416, 'bytes */5000']);
    expect((await get('/data.bin', { range: 'bytes=0-1', 'if-range': '"old"' })).status).toBe(200);
  });

  test.each([
    ['POST', 405],
    ['PUT', 405],
    ['DELETE', 405],
    ['PATCH', 405],
    ['OPTIONS', 204],
  ])('%s', async (method, status) => {
    const got = await get('/', {}, method);
    expect([got.status, got.headers.allow]).toEqual([status, 'GET, HEAD, OPTIONS']);
  });

  test('the deployment tells which lines have no effect', async () => {
    const [{ warnings }] = (await client.account.api.get(`/pages/${site.id}/deployments`)).expect(200).body;
    const where = warnings.map(({ file, line }: { file: string; line: number }) => `${file}:${line}`);
    expect(where).toEqual(expect.arrayContaining(['_redirects:11', '_redirects:13', '_headers:9', '_headers:10']));
    expect(where).toHaveLength(4);
  });
});

describe('a site of one page', () => {
  let site: Site;
  beforeAll(async () => {
    site = await client.shown({ 'index.html': 'app', '404.html': 'lost', 'assets/x.js': 'x' }, { spa: true });
  });
  const HTML = { accept: 'text/html,application/xhtml+xml' };

  test.each<[path: string, headers: Record<string, string>, method: string, status: number, text: string]>([
    ['/any/where', HTML, 'GET', 200, 'app'],
    ['/any/where', HTML, 'HEAD', 200, ''],
    ['/any/where', {}, 'GET', 200, 'app'],
    ['/any/where', { accept: '*/*' }, 'GET', 200, 'app'],
    ['/any/where', { accept: 'application/json' }, 'GET', 404, 'lost'],
    ['/assets/missing.js', HTML, 'GET', 404, 'lost'],
    ['/assets/x.js', HTML, 'GET', 200, 'x'],
  ])('%s %p %s', async (path, headers, method, status, text) => {
    const got = await client.get(site.domain, path, headers, method);
    expect([got.status, got.text]).toEqual([status, text]);
    expect(got.headers.vary).toBe(path === '/any/where' ? 'Accept' : undefined);
  });

  test('the flag can be taken away', async () => {
    (await client.account.api.patch(`/pages/${site.id}`, { spa: false })).expect(200);
    expect((await client.get(site.domain, '/any/where', HTML)).text).toBe('lost');
  });
});

test('rules of a site make of a long path no more than others have to bear', async () => {
  const rules = {
    'index.html': 'home',
    '404.html': 'lost',
    _redirects: [
      `/r/* /x${':splat'.repeat(160)} 302`,
      `/s/* /x${':splat'.repeat(10)} 302`,
      ...Array.from({ length: 2000 }, () => `/* /${':splat'.repeat(10)} 200`),
    ].join('\n'),
    _headers: `/*\n${Array.from({ length: 125 }, (_, i) => ` X-${i}: ${':splat'.repeat(i < 100 ? 10 : 330)}`).join('\n')}`,
  };
  const site = await client.shown(rules);
  const [{ warnings }] = (await client.account.api.get(`/pages/${site.id}/deployments`)).expect(200).body;
  expect(warnings[0]).toEqual({
    file: '_redirects',
    line: 1,
    message: 'The line has parts of the path in its target more than 10 times.',
  });
  const answer = (path: string) => asked(`GET ${path} HTTP/1.1`, `Host: ${site.domain}`);
  for (const path of ['/'.repeat(456), '/'.repeat(15_000), `/${'a/'.repeat(7500)}x`, `/${'%25'.repeat(5000)}`]) {
    const got = await answer(path);
    expect(got).toMatch(/^HTTP\/1\.1 404 [^]*\r\n\r\nlost$/);
    expect(got.length).toBeLessThan(40_000);
  }
  expect(await answer(`/r/${'a'.repeat(1000)}`)).toMatch(/^HTTP\/1\.1 404 /);
  expect(await answer(`/s/${'a'.repeat(1000)}`)).toMatch(/^HTTP\/1\.1 302 /);
  expect(await answer(`/s/${'a'.repeat(2000)}`)).toMatch(/^HTTP\/1\.1 414 /);
  // Small as the path may be, so is what is made of it.
  expect((await client.get(site.domain, '/abc')).headers).toMatchObject({ 'x-0': 'abc'.repeat(10) });
});

test('cookies of _headers stay in lines of their own', async () => {
  const _headers = '/*\n  Set-Cookie: a=1; Path=/\n  X-A: 1\n/\n  Set-Cookie: b=2\n  X-A: 2';
  const site = await client.shown({ 'index.html': 'home', _headers });
  // The second time it is remembered.
  for (let round = 0; round < 2; round++) {
    const { headers } = await client.get(site.domain, '/');
    expect(headers).toMatchObject({ 'set-cookie': ['a=1; Path=/', 'b=2'], 'x-a': '1, 2' });
  }
});

describe('P-07: the host', () => {
  let site: Site;
  beforeAll(async () => {
    site = await client.shown({ 'index.html': 'mine' });
  });

  test('is the same in any spelling', async () => {
    const { domain } = site;
    for (const host of [domain, domain.toUpperCase(), `${domain}.`, `${domain}:80`, `${domain}.:8080`]) {
      expect((await client.get(host, '/')).text).toBe('mine');
    }
  });

  test.each([
    '..',
    '.',
    '../..',
    'localhost',
    '127.0.0.1',
    '[::1]',
    'a..b',
    '%2e%2e',
    'x/../y',
    'ü.localhost',
    "' OR 1=1 --",
    '-',
    `${'a'.repeat(300)}.localhost`,
    'nobody.localhost',
    '\\\\host',
  ])('%s is nobody', async (host) => {
    const got = await client.get(Buffer.from(host).toString('latin1'), '/');
    expect([400, 404]).toContain(got.status);
    expect(got.headers['content-security-policy'] ?? 'parser').toMatch(/default-src 'none'|parser/);
  });

  test('is there once', async () => {
    const answer = await asked('GET / HTTP/1.1', `Host: ${site.domain}`, 'Host: other.localhost');
    expect(answer.split('\r\n')[0]).toBe('HTTP/1.1 400 Bad Request');
  });

  test('is the one of the target, where that names one', async () => {
    const status = async (host: string, target: string) => (await client.get(host, target)).status;
    expect(await status('other.localhost', `http://${site.domain}/`)).toBe(200);
    expect(await status('other.localhost', `HTTP://${site.domain.toUpperCase()}:80?a=b`)).toBe(200);
    expect(await status('other.localhost', `http://${site.domain}/about.html`)).toBe(404);
    expect(await status(site.domain, 'http://other.localhost/')).toBe(404);
    expect(await status(site.domain, 'http://user@other.localhost/')).toBe(400);
    expect(await status(site.domain, 'http:///')).toBe(400);
    expect(await status(site.domain, 'ftp://other.localhost/')).toBe(400);
  });

  test('is asked whatever the request expects', async () => {
    const lines = (host: string) => ['GET / HTTP/1.1', `Host: ${host}`, 'Expect: the-unexpected'];
    expect(await asked(...lines(site.domain))).toMatch(/^HTTP\/1\.1 200 [^]*\r\n\r\nmine$/);
    expect(await asked(...lines('nobody.localhost'))).toMatch(/^HTTP\/1\.1 404 /);
  });
});

test('what is deactivated or deleted is gone with the answer, and may come back', async () => {
  const site = await client.shown({ 'index.html': 'here' });
  const status = async () => (await client.get(site.domain, '/')).status;
  expect(await status()).toBe(200);
  for (let round = 0; round < 10; round++) {
    (await client.account.api.patch(`/pages/${site.id}`, { active: false })).expect(200);
    expect(await status()).toBe(404);
    (await client.account.api.patch(`/pages/${site.id}`, { active: true })).expect(200);
    expect(await status()).toBe(200);
  }
  (await client.account.api.delete(`/pages/${site.id}`)).expect(204);
  expect(await status()).toBe(404);
});

test('a site without a deployment, and one of a suspended account', async () => {
  const empty = await client.site();
  expect((await client.get(empty.domain, '/')).status).toBe(404);
  const other = new PagesClient(berth, await berth.makeAccount());
  const site = await other.shown({ 'index.html': 'x' });
  expect((await client.get(site.domain, '/')).status).toBe(200);
  await berth.database.query("UPDATE accounts SET status = 'suspended' WHERE id = ?", [other.account.id]);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect((await client.get(site.domain, '/')).status).toBe(404);
  other.close();
});

test('every deployment has an address of its own', async () => {
  const site = await client.site();
  const _headers = '/*\n  Set-Cookie: a=b\n  X-Own: 1\n/\n  ! X-Robots-Tag\n/other\n  X-Robots-Tag: all';
  const first = await client.deploy(site, { 'index.html': 'one', 'other.html': 'more', _headers });
  await client.deploy(site, { 'index.html': 'two' });
  const [, { previewUrl }] = (await client.account.api.get(`/pages/${site.id}/deployments`)).expect(200).body;
  expect(new URL(previewUrl).hostname).toBe(`${first}.preview.localhost`);
  const got = await client.get(`${first}.preview.localhost`, '/');
  expect([got.text, got.headers['x-robots-tag'], got.headers['x-own']]).toEqual(['one', 'noindex', '1']);
  expect(got.headers['set-cookie']).toBeUndefined();
  expect((await client.get(`${first}.preview.localhost`, '/other')).headers['x-robots-tag']).toBe('noindex');
  expect((await client.get(site.domain, '/')).text).toBe('two');
  (await client.account.api.patch(`/pages/${site.id}`, { active: false })).expect(200);
  expect((await client.get(`${first}.preview.localhost`, '/')).status).toBe(404);
});
