import type { WebAnswer } from '../../../drivers/web/web.js';
import { SiteVisit } from './site-visit.reader.js';

const answer = ({ pathname, href }: URL): WebAnswer => ({
  ...{ url: href, status: 200, headers: [['content-type', 'text/html']], bytes: 1, truncated: false, hops: [] },
  ...{ firstByteMs: 1, ms: 1, body: Buffer.from(pathname === '/robots.txt' ? 'User-agent: *\nDisallow: /' : '<p>') },
});

test('others have their turn between addresses that may not be asked for, and the end is kept to', async () => {
  const session = { fetch: jest.fn(async (url: URL) => answer(url)), close: async () => undefined };
  const slots = { asking: (_host: string, _signal: AbortSignal, work: () => unknown) => work() };
  const scan = new AbortController();
  const visit = new SiteVisit(session, slots as never, { staysOnHost: false, signal: scan.signal });
  await visit.begin(new URL('http://example.test/'));
  let turns = 0;
  const count = (): void => void (turns++, running && setImmediate(count));
  let running = true;
  setImmediate(count);
  for (let i = 0; i < 50; i++) expect(await visit.page(new URL(`http://example.test/${i}`))).toBeNull();
  expect(turns).toBeGreaterThanOrEqual(49);
  // What becomes due in between ends it.
  setImmediate(() => scan.abort());
  await visit.page(new URL('http://example.test/last'));
  running = false;
  expect(visit.isOver).toBe(true);
  expect(session.fetch).toHaveBeenCalledTimes(2);
});
