import { EMAIL, normalizeEmail, USERNAME, usernameFrom, variantOf } from './username.js';

test.each([
  ['Alice', 'alice'],
  ['Zoë Müller', 'zoemuller'],
  ['..dots..', 'dots'],
  ['x'.repeat(80), 'x'.repeat(32)],
  [`${'x'.repeat(31)}-y`, 'x'.repeat(31)],
  ['alice@example.test', 'alice'],
])('%s becomes %s', (wanted, username) => {
  expect(usernameFrom(wanted)).toBe(username);
});

test('the first candidate that can be a name is taken, or one is made up', () => {
  expect(usernameFrom(undefined, 'ab', 'carol@example.test')).toBe('carol');
  expect(usernameFrom('日本', '')).toMatch(/^user-\d{6}$/);
});

test('variants are valid names too', () => {
  for (const name of ['abc', 'x'.repeat(32), `${'a'.repeat(24)}.${'b'.repeat(7)}`])
    expect(variantOf(name)).toMatch(USERNAME);
});

test('addresses are folded as ASCII only', () => {
  expect(normalizeEmail('Alice@Example.TEST')).toBe('alice@example.test');
  expect(normalizeEmail('K\u212A@x.test')).toBe('k\u212A@x.test');
});

test.each(['a@b', 'a.b+c@x.test', 'ü@x.test'])('%s can be an address', (text) => expect(text).toMatch(EMAIL));
test.each(['', 'a', '@x', 'a@', 'a b@x', 'a@x y', 'a@b@c', 'a\n@x', `${'a'.repeat(65)}@x`])('%j cannot', (text) => {
  expect(text).not.toMatch(EMAIL);
});
