import { freshKey, hashOf, isAddressOrRange, isAllowed } from './api-key.js';

test('a fresh key has the shape of the contract', () => {
  const { key, prefix, hashedKey } = freshKey();
  expect(key).toMatch(/^svc_[0-9a-f]{48}$/);
  expect(prefix).toBe(key.slice(0, 12));
  expect(hashedKey).toBe(hashOf(key).toString('hex'));
  expect(freshKey().key).not.toBe(key);
});

test.each([
  ['192.0.2.7', ['192.0.2.7'], true],
  ['192.0.2.8', ['192.0.2.7'], false],
  ['192.0.2.255', ['192.0.2.0/24'], true],
  ['192.0.3.0', ['192.0.2.0/24'], false],
  ['10.1.2.3', ['0.0.0.0/0'], true],
  ['2001:db8::1', ['2001:db8::/32'], true],
  ['2001:db9::1', ['2001:db8::/32'], false],
  ['2001:DB8:0::1', ['2001:db8::1'], true],
  ['10.1.2.3', ['::/0'], false],
  ['::1', ['0.0.0.0/0'], false],
  ['', ['0.0.0.0/0'], false],
  ['unknown', ['0.0.0.0/0'], false],
])('%s among %j: %s', (address, allowed, expected) => {
  expect(isAllowed(address, allowed)).toBe(expected);
});

test.each(['192.0.2.1', '192.0.2.0/24', '0.0.0.0/0', '::1', '2001:db8::/128'])('%s is an address or range', (text) => {
  expect(isAddressOrRange(text)).toBe(true);
});
test.each([
  '',
  'x',
  '192.0.2',
  '192.0.2.1/33',
  '192.0.2.1/',
  '192.0.2.1/08',
  '::/129',
  '1.2.3.4,5.6.7.8',
  'fe80::1%eth0',
  '1.2.3.4/-1',
])('%j is none', (text) => expect(isAddressOrRange(text)).toBe(false));
