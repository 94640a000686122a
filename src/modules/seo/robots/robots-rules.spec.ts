import { MOST_WILDCARDS, normalised, RobotsPattern } from './robots-pattern.js';
import { MOST_RULES, MOST_WILDCARD_RULES, RobotsRules } from './robots-rules.js';

const at = (path: string): URL => new URL(path, 'http://example.test');
const allows = (content: string, path: string, agent = 'BerthBot'): boolean =>
  new RobotsRules(content, ['BerthBot', 'Other']).isAllowed(at(path), agent);
const EVERYBODY = 'User-agent: *\n';

describe('a pattern', () => {
  test.each<[pattern: string, matched: string[], others: string[]]>([
    ['/', ['/', '/x'], []],
    ['/fish', ['/fish', '/fish.html', '/fish/salmon', '/fish?id=1'], ['/Fish', '/catfish', '/']],
    ['/fish*', ['/fish', '/fishheads'], ['/catfish']],
    ['/*.php', ['/a.php', '/a/b.php?x', '/.php'], ['/', '/a.PHP']],
    ['/*.php$', ['/a.php', '/x.php.php'], ['/a.php?x', '/a.php/', '/php']],
    ['/a$', ['/a'], ['/ab', '/a/']],
    ['/a*$', ['/a', '/ab'], ['/b']],
    ['/a*a$', ['/aa', '/aba'], ['/a']],
    ['/fish*.php', ['/fish.php', '/fishheads/cat.php?x'], ['/Fish.PHP']],
    ['/*aab*aab', ['/aaaabaab', '/aabxaab'], ['/aab', '/aaab']],
    ['*', ['/', '/x'], []],
    ['fish', [], ['/fish', '/']],
    ['/a$b', ['/a$b', '/a%24b'], ['/a', '/ab']],
    ['/a%2Ab', ['/a*b', '/a%2ab'], ['/axb']],
    ['/%7Eme/%41', ['/~me/A', '/%7eme/%41'], ['/me/A']],
    ['/ä b', ['/ä b', '/%c3%a4%20b'], ['/a b']],
    ['/a%2Fb', ['/a%2fb'], ['/a/b']],
    ['/|', ['/|', '/%7C'], []],
    [`/${'*'.repeat(99_000)}b$`, ['/b', '/xxb'], ['/', '/bx']],
  ])('%#: %.20s', (pattern, matched, others) => {
    const content = `${EVERYBODY}Disallow: ${pattern}`;
    expect(matched.filter((path) => allows(content, path))).toEqual([]);
    expect(others.filter((path) => !allows(content, path))).toEqual([]);
  });

  test('takes the sum of its length and that of an address, not the product', () => {
    const path = normalised(`/${'a'.repeat(2000)}`);
    for (const text of [`/*${'a'.repeat(1000)}b`, `/${'a*'.repeat(MOST_WILDCARDS - 1)}${'a'.repeat(900)}b`]) {
      const pattern = RobotsPattern.parse(text, false)!;
      const looked = jest.spyOn(String.prototype, 'charCodeAt');
      expect(pattern.matches(path)).toBe(false);
      expect(looked.mock.calls.length).toBeLessThan(5 * (path.length + text.length));
      looked.mockRestore();
    }
  });

  test('of too many wildcards forbids more, and allows nothing', () => {
    const many = `/${'a*'.repeat(MOST_WILDCARDS + 1)}z`;
    const path = `/${'a'.repeat(MOST_WILDCARDS + 1)}`;
    expect(allows(`${EVERYBODY}Disallow: ${many}`, path)).toBe(false);
    expect(allows(`${EVERYBODY}Disallow: /\nAllow: ${many}`, `${path}z`)).toBe(false);
  });
});

describe('of several rules', () => {
  test.each<[string, string, string, boolean]>([
    ['the longest decides', 'Allow: /p\nDisallow: /\n', '/page', true],
    ['wherever it stands', 'Disallow: /folder\nAllow: /folder/page\n', '/folder/page', true],
    ['of two like that the one that allows', 'Disallow: /folder\nAllow: /folder\n', '/folder/page', true],
    ['wildcards count', 'Allow: /page\nDisallow: /*.htm\n', '/page.htm', false],
    ['an anchor counts', 'Allow: /$\nDisallow: /\n', '/', true],
    ['one without a pattern is none', 'Disallow:\n', '/', true],
  ])('%s', (_what, rules, path, allowed) => {
    expect(allows(EVERYBODY + rules, path)).toBe(allowed);
  });

  test('the one that decides is told by its line', () => {
    const rules = new RobotsRules('# a note\r\nUser-agent: *\rDisallow: /a # and why\n', []);
    expect(rules.ruleFor(at('/a'), '*')).toMatchObject({ line: 3, text: 'Disallow: /a # and why' });
  });
});

describe('a group', () => {
  test.each<[string, string, boolean]>([
    ['of one’s own wins over everybody’s', `${EVERYBODY}Disallow: /\nUser-agent: BERTHBOT/1.0\nDisallow: /x\n`, true],
    ['of one’s own that forbids nothing does', `${EVERYBODY}Disallow: /\nUser-agent: BerthBot\nDisallow:\n`, true],
    ['of others says nothing', 'User-agent: Nobody\nDisallow: /\n', true],
    ['of several agents is each one’s', 'User-agent: Nobody\nUser-agent: BerthBot\nDisallow: /\n', false],
    ['is not ended by other fields', 'User-agent: BerthBot\nSitemap: /x\nUser-agent: Nobody\nDisallow: /\n', false],
    [
      'is one with others of its agent',
      `User-agent: BerthBot\nAllow: /x\n\n${'User-agent: BerthBot\nDisallow: /\n'}`,
      false,
    ],
    ['has to be opened', 'Disallow: /\n', true],
    ['begins behind a byte order mark', '\ufeffUser-agent: *\nDisallow: /\n', false],
  ])('%s', (_what, content, allowed) => {
    expect(allows(content, '/page')).toBe(allowed);
  });

  test('tells how long to wait, and the file where sitemaps are', () => {
    const content =
      'Sitemap: http://a.test/1\nUser-agent: BerthBot\nCrawl-delay: 1.5\nDisallow: /x\nsitemap:http://a.test/2';
    const rules = new RobotsRules(content, ['BerthBot']);
    expect([rules.delaySecondsOf('BerthBot'), rules.delaySecondsOf('*')]).toEqual([1.5, 0]);
    expect(rules.sitemaps).toEqual(['http://a.test/1', 'http://a.test/2']);
  });

  test('shares its rules among its agents, however often it names them', () => {
    const rules = new RobotsRules(`${'User-agent: a\nUser-agent: b\n'.repeat(2000)}Disallow: /x`, ['a', 'b']);
    expect(rules.ruleFor(at('/x'), 'a')).toBe(rules.ruleFor(at('/x'), 'b'));
  });
});

test('so many rules are kept, and so many with wildcards', () => {
  const forbidden = (count: number, pattern: (index: number) => string): number => {
    const lines = Array.from({ length: count }, (_, index) => `Disallow: ${pattern(index)}\n`);
    const rules = new RobotsRules(EVERYBODY + lines.join(''), []);
    return Array.from({ length: count }, (_, index) => rules.isAllowed(at(`/x/${index}/`), '*')).filter((is) => !is)
      .length;
  };
  expect(forbidden(MOST_WILDCARD_RULES + 50, (index) => `/*/${index}/`)).toBe(MOST_WILDCARD_RULES);
  const rules = new RobotsRules(`${EVERYBODY}${'Allow: /x\n'.repeat(MOST_RULES)}Disallow: /late\n`, []);
  expect(rules.isAllowed(at('/late'), '*')).toBe(true);
});
