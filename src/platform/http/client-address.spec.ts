import type { IncomingMessage } from 'node:http';
import { addressBucket, AddressSet, canonicalAddress, canonicalEntry, ClientAddresses } from './client-address.js';

function request(peer: string, forwarded?: string | string[]): IncomingMessage {
  return { socket: { remoteAddress: peer }, headers: { 'x-forwarded-for': forwarded } } as unknown as IncomingMessage;
}

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:192.0.2.1', '192.0.2.1'],
  ['::ffff:c000:0201', '192.0.2.1'],
  ['2001:DB8:0:0::1', '2001:db8::1'],
  ['fe80::1%eth0', 'fe80::1'],
  ['', undefined],
  ['1.2.3', undefined],
  ['1.2.3.4.5', undefined],
  ['01.2.3.4', undefined],
  ['localhost', undefined],
])('%s is spelled %s', (text, expected) => {
  expect(canonicalAddress(text)).toBe(expected);
});

test.each([
  ['::ffff:127.0.0.1', '127.0.0.1'],
  ['::FFFF:7f00:1', '127.0.0.1'],
  ['::ffff:10.0.0.0/104', '10.0.0.0/8'],
  ['::ffff:0:0/96', '0.0.0.0/0'],
  ['::ffff:0.0.0.0/95', '::ffff:0.0.0.0/95'],
  ['10.0.0.0/8', '10.0.0.0/8'],
  ['2001:DB8:0::/32', '2001:db8::/32'],
  ['::/0', '::/0'],
])('the entry %s is spelled %s', (entry, expected) => {
  expect(canonicalEntry(entry)).toBe(expected);
});

test('a set holds the addresses of a mapped range', () => {
  const set = new AddressSet(['::ffff:10.0.0.0/104', '::ffff:192.0.2.1']);
  expect(['10.1.2.3', '192.0.2.1', '11.0.0.1'].map((address) => set.has(address))).toEqual([true, true, false]);
});

test.each([
  ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', true],
  ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
  ['192.0.2.1', '192.0.2.2', false],
])('%s and %s share a budget: %s', (a, b, shared) => {
  expect(addressBucket(a) === addressBucket(b)).toBe(shared);
});

describe('without trusted proxies', () => {
  const addresses = new ClientAddresses([]);

  test.each(['198.51.100.9', '127.0.0.1, 198.51.100.9', 'garbage'])(
    'X-Forwarded-For: %s is the client’s own talk',
    (forwarded) => {
      expect(addresses.of(request('::ffff:127.0.0.1', forwarded))).toBe('127.0.0.1');
    },
  );
});

describe('behind trusted proxies', () => {
  const addresses = new ClientAddresses(['10.0.0.0/8', '2001:db8:ffff::/48', '192.0.2.7']);

  test.each([
    ['the entry a proxy wrote', '10.0.0.1', '198.51.100.9', '198.51.100.9'],
    [
      'the right-most one that is no proxy',
      '10.0.0.1',
      '203.0.113.66, 198.51.100.9, 10.2.0.1, 192.0.2.7',
      '198.51.100.9',
    ],
    ['several header lines in order', '10.0.0.1', ['203.0.113.66', '198.51.100.9, 10.1.1.1'], '198.51.100.9'],
    ['an IPv6 proxy', '2001:db8:ffff::2', '2001:db8:1::5', '2001:db8:1::5'],
    ['a port', '10.0.0.1', '198.51.100.9:4711', '198.51.100.9'],
    ['brackets and a port', '10.0.0.1', '[2001:db8:1::5]:4711', '2001:db8:1::5'],
    ['a mapped address', '10.0.0.1', '::ffff:198.51.100.9', '198.51.100.9'],
    ['proxies only', '10.0.0.1', '10.9.9.9', '10.9.9.9'],
    ['nothing', '10.0.0.1', undefined, '10.0.0.1'],
    ['an empty header', '10.0.0.1', '', '10.0.0.1'],
    ['what is no address', '10.0.0.1', 'unknown', '10.0.0.1'],
    ['what is no address, right of the client', '10.0.0.1', '198.51.100.9, _hidden', '10.0.0.1'],
    ['a header from somebody who is no proxy', '198.51.100.1', '203.0.113.66', '198.51.100.1'],
  ])('%s', (_, peer, forwarded, expected) => {
    expect(addresses.of(request(peer, forwarded))).toBe(expected);
  });
});
