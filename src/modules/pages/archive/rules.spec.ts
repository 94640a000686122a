import { parseHeaders } from './header-rules.js';
import { template } from './path-pattern.js';
import { parseRedirects } from './redirect-rules.js';
import { Warnings } from './rule-lines.js';

const PLACES = ':splat'.repeat(11);

test('a target takes ten parts of the path, and not one more', () => {
  const warnings = new Warnings();
  const lines = [
    `/a/* /x${PLACES} 302`,
    `/b/* /x${PLACES} 200`,
    `/c/:d /x${':d'.repeat(11)}`,
    `/e/* /x${PLACES.slice(':splat'.length)}`,
    // What the pattern does not capture stays as it is.
    `/f /x${PLACES}`,
  ];
  const rules = parseRedirects(Buffer.from(lines.join('\n')), warnings);
  expect(rules.map(({ from }) => from)).toEqual(['/e/*', '/f']);
  expect(warnings.list.map(({ line }) => line)).toEqual([1, 2, 3]);
  expect(warnings.list[0]!.message).toBe('The line has parts of the path in its target more than 10 times.');
});

test('a header takes ten parts of the path, and a path fifty headers', () => {
  const warnings = new Warnings();
  const json = `{${Array.from({ length: 20 }, (_, i) => `"a${i}":true`).join(',')}}`;
  const text = ['/*', ` A: ${PLACES}`, ` B: ${json}`, ...Array.from({ length: 60 }, (_, i) => ` X-${i}: y`)].join('\n');
  const [rule] = parseHeaders(Buffer.from(text), warnings);
  expect(rule!.set).toHaveLength(50);
  expect(rule!.set[0]).toEqual(['B', json]);
  expect(warnings.list[0]).toEqual({
    file: '_headers',
    line: 2,
    message: 'The line has parts of the path in its value more than 10 times.',
  });
  expect(warnings.list[1]!.message).toBe('The line is beyond the 50 headers of a path that have an effect.');
  expect(warnings.list).toHaveLength(12);
});

test('what would become too long is not built', () => {
  const splat = 'x'.repeat(15_000);
  expect(template(':splat'.repeat(100_000))({ splat }, 8192)).toBeNull();
  expect(template('/a/:b')({ b: 'xyz' }, 6)).toBe('/a/xyz');
  expect(template('/a/:b')({ b: 'xyz' }, 5)).toBeNull();
  expect(template('/a/:b:c-:b')({ b: '$&' }, 100)).toBe('/a/$&:c-$&');
});
