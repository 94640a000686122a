import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { encodeManifest } from '../archive/manifest.js';
import { loadManifest } from './loaded-manifest.js';
import { SiteAnswers } from './site-answer.reader.js';
import { SiteListener } from './site-listener.reader.js';

/** The listener alone, in front of whatever finds a site. */
async function opened(find: () => unknown, answers: unknown = {}) {
  const logged: unknown[] = [];
  const listener = new SiteListener(
    { counter: () => ({ labels: () => ({ inc: () => undefined }) }) } as never,
    { pagesHost: '127.0.0.1', pagesHttpPort: 0, pagesOriginPort: 0, trustedProxies: [] } as never,
    { find } as never,
    answers as never,
    {} as never,
    { warn: (fields: unknown) => logged.push(fields) } as never,
  );
  await listener.open();
  const ask = async (...lines: string[]) => {
    const socket = connect(listener.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write([...lines, 'Connection: close', '', ''].join('\r\n'));
    return text(socket);
  };
  return { listener, logged, ask };
}

test('what fails at once is told and logged, and the next request is answered', async () => {
  let fail = true;
  const fault = new RangeError('Invalid string length');
  const { listener, logged, ask } = await opened(() => {
    if (fail) throw fault;
    return null;
  });
  expect(await ask('GET / HTTP/1.1', 'Host: a.localhost')).toMatch(/^HTTP\/1\.1 500 /);
  expect(logged).toEqual([{ err: fault }]);
  fail = false;
  expect(await ask('GET / HTTP/1.1', 'Host: a.localhost')).toMatch(/^HTTP\/1\.1 404 /);
  await listener.close();
});

test('a manifest with rules of any kind is answered from in bounded size', async () => {
  const set = Array.from({ length: 125 }, (_, i): [string, string] => [`X-${i}`, ':splat'.repeat(330)]);
  const manifest = loadManifest(
    encodeManifest({
      files: { 'index.html': { at: 0, bytes: 3, hash: '00' } },
      redirects: [{ from: '/r/*', to: `/x${':splat'.repeat(160)}`, status: 302, force: false }],
      headers: [{ path: '/*', set }],
    }),
  );
  const contents = { manifest: () => manifest, whole: () => Buffer.from('abc') };
  const shown = { deploymentId: 'd', siteId: 's', blobId: 'b', spa: true, secureUrl: null, isPreview: false };
  const { listener, logged, ask } = await opened(() => shown, new SiteAnswers(contents as never, {} as never));
  for (const length of [20, 455, 15_000]) {
    const answer = await ask(`GET /${'/'.repeat(length)} HTTP/1.1`, 'Host: a.localhost');
    expect(answer).toMatch(/^HTTP\/1\.1 200 [^]*\r\n\r\nabc$/);
    expect(answer.length).toBeLessThan(40_000);
  }
  expect(await ask(`GET /r/${'a'.repeat(15_000)} HTTP/1.1`, 'Host: a.localhost')).toMatch(/^HTTP\/1\.1 414 /);
  expect(logged).toEqual([]);
  await listener.close();
});
