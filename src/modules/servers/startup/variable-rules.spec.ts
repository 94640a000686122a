import { variableFault } from './variable-rules.js';

const repository = (value: string, allowFile = false) => variableFault('GIT_REPOSITORY', value, allowFile)?.code;

test.each([
  '',
  'https://example.test/a.git',
  'http://127.0.0.1:8080/a.git',
  'https://user:p%20w@example.test/a%20b.git?x=1#y',
  'https://[2001:db8::1]/a.git',
  'https://münchen.test/größe.git',
])('the repository %j may be cloned', (value) => {
  expect(repository(value)).toBeUndefined();
  expect(repository(value, true)).toBeUndefined();
});

test.each([
  'https:x',
  'https:/x',
  'https:\\\\x',
  'https://',
  'https://:80',
  ' https://x',
  'https://x ',
  'https://x\n',
  '\u0000https://x',
  'ht\ttps://x',
  'https://x/a\tb',
  'https://x/a\u007fb',
  'https://x/a\u0085b',
  'https://x/a\u00a0b',
  'https://x/a\u2028b',
  'http://user:pw@x/y z',
  // git takes the scheme literally: it would look for a helper of that name.
  'HTTPS://x',
  'ssh://git@host/x',
  'git@host:x',
  'ext::sh -c id',
  '--upload-pack=x',
  '/etc',
  'file:/etc',
  'file://',
])('the repository %j is refused', (value) => {
  expect(repository(value)).toBe('pattern');
  expect(repository(value, true)).toBe('pattern');
});

test('files are repositories only where the operator allows them', () => {
  expect(repository('file:///srv/a.git')).toBe('pattern');
  expect(repository('file:///srv/a.git', true)).toBeUndefined();
  expect(repository('file:///srv/a b.git', true)).toBe('pattern');
});

test('the fault names what an address may start with', () => {
  const detail = (allowFile: boolean) => variableFault('GIT_REPOSITORY', 'x', allowFile)!.detail;
  expect(detail(false)).toBe('value must be an address without blanks that starts with http://, https://.');
  expect(detail(true)).toBe('value must be an address without blanks that starts with http://, https://, file://.');
});
