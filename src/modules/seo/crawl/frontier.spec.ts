import { CrawlFrontier } from './frontier.js';
import { pageKey } from './page-key.js';

const HOME = new URL('http://example.test/');
const drained = (frontier: CrawlFrontier): URL[] => {
  const urls: URL[] = [];
  for (let next = frontier.next(); next; next = frontier.next()) urls.push(next);
  return urls;
};

test('a scan sees so many addresses, whatever becomes of them', () => {
  const frontier = new CrawlFrontier(HOME, HOME);
  let seen = 0;
  for (let page = 0; page < 20; page++) {
    frontier.add(Array.from({ length: 200 }, (_, index) => `http://example.test/${page}/${index}`));
    seen += drained(frontier).length;
  }
  expect(seen).toBe(999);
});

test('an address that is too long is none', () => {
  const frontier = new CrawlFrontier(HOME, HOME);
  frontier.add([`http://example.test/?${'a&'.repeat(1_000_000)}`, 'http://example.test/b']);
  expect(drained(frontier).map(({ pathname }) => pathname)).toEqual(['/b']);
});

test.each([
  ['/a', '/a/'],
  ['/a?x=1&y=2', '/a?y=2&x=1'],
  ['/a#x', '/a'],
  ['/a?', '/a'],
])('%s and %s are one page', (one, other) => {
  expect(pageKey(new URL(one, HOME))).toBe(pageKey(new URL(other, HOME)));
});
