import { readSitemap } from './sitemap.js';

const entry = (at: number) => `<url><loc>https://example.test/${at}</loc></url>`;
const urlset = (inner: string, attributes = '') => `<urlset${attributes}>${inner}</urlset>`;

test('a sitemap is read, with what others put into it', async () => {
  const image = '<image:image><image:loc>https://example.test/a.png</image:loc></image:image>';
  const inner = `<url><loc>https://example.test/0</loc>${image}<lastmod>2026-01-01</lastmod></url>${entry(1)}`;
  expect(await readSitemap(urlset(inner, ' xmlns="a" xmlns:image="b"'), false)).toEqual({
    kind: 'urlset',
    entries: ['https://example.test/0', 'https://example.test/1'],
    faults: [],
  });
});

test('as many elements beside each other as there may be are not taken for elements within each other', async () => {
  const inner = Array.from({ length: 5000 }, (_, at) => entry(at)).join('');
  expect(await readSitemap(urlset(`${inner}<a b="c"/>`.repeat(2)), false)).toMatchObject({
    faults: [],
    entries: { length: 10_000 },
  });
});

describe('what the parser would keep to the end is not read to the end', () => {
  const BEYOND = 200_000;
  const attributes = Array.from({ length: BEYOND }, (_, at) => ` a${at}=""`).join('');

  test.each([
    ['elements within each other', `${'<a>'.repeat(BEYOND)}${'</a>'.repeat(BEYOND)}`, /elements within each other/],
    ['attributes of an element', `<a${attributes}/>`, /too many attributes/],
  ])('%s', async (_, inner, fault) => {
    const { entries, faults } = await readSitemap(urlset(`${entry(0)}${inner}${entry(1)}`), false);
    expect(faults).toEqual([expect.stringMatching(fault)]);
    expect(entries).toEqual(['https://example.test/0']);
  });
});
