import { randomBytes } from 'node:crypto';
import { lengthPrefixed } from './length-prefixed.js';
import { BrokenCiphertext, openValue, sealValue, secretKeyOf, type ValuePlace } from './value-cipher.js';

const seed = secretKeyOf(randomBytes(32));
const place: ValuePlace = { scope: 'srv:srv_a', key: 'KEY', version: 7, sealed: true, generation: 1 };
const value = Buffer.from('a value, ä one');
const blob = sealValue(seed, place, value);

function refused(where: Partial<ValuePlace>, what: Buffer = blob, under = seed): void {
  expect(() => openValue(under, { ...place, ...where }, what)).toThrow(BrokenCiphertext);
}

test('what was put in comes out, an empty value included, and never looks the same twice', () => {
  expect(openValue(seed, place, blob)).toEqual(value);
  expect(openValue(seed, place, sealValue(seed, place, Buffer.alloc(0)))).toEqual(Buffer.alloc(0));
  expect(sealValue(seed, place, value)).not.toEqual(blob);
});

test('V-01: a blob with any bit changed is refused', () => {
  for (let index = 0; index < blob.length; index++) {
    for (let bit = 0; bit < 8; bit++) {
      const changed = Buffer.from(blob);
      changed[index]! ^= 1 << bit;
      refused({}, changed);
    }
  }
});

test.each<[string, Partial<ValuePlace>]>([
  ['V-02: another service', { scope: 'srv:srv_b' }],
  ['V-03: another key', { key: 'KEZ' }],
  ['V-04: an earlier version', { version: 6 }],
  ['V-04: a later version', { version: 8 }],
  ['the other seal', { sealed: false }],
  ['another generation', { generation: 2 }],
  ['the border of two fields moved', { scope: 'srv:srv_aK', key: 'EY' }],
])('in the place of %s it is refused', (_name, where) => refused(where));

test('V-05: under another seed it is refused', () => refused({}, blob, secretKeyOf(randomBytes(32))));

test.each([0, 4, 8, 12, 15])('V-06: a tag of %i bytes is refused', (length) => {
  refused({}, blob.subarray(0, blob.length - 16 + length));
});

test('a blob that is cut short anywhere, or longer, is refused', () => {
  for (let length = 0; length < blob.length; length++) refused({}, blob.subarray(0, length));
  refused({}, Buffer.concat([blob, Buffer.from([0])]));
});

test('the bytes a seed was made of are wiped', () => {
  const bytes = randomBytes(32);
  secretKeyOf(bytes);
  expect(bytes).toEqual(Buffer.alloc(32));
});

test('no two lists of fields are the same bytes', () => {
  const lists = [['a', 'b'], ['ab'], ['a', '', 'b'], ['ab', ''], [''], [], ['a\0b'], [true], [1], ['\x01']];
  expect(new Set(lists.map((list) => lengthPrefixed(...list).toString('hex'))).size).toBe(lists.length - 1);
  expect(lengthPrefixed(true)).toEqual(lengthPrefixed('\x01'));
});
