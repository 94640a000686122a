import { createHash, createSecretKey, randomBytes } from 'node:crypto';
import { fingerprintOf, headOf, type HeadRow, type HeadScope } from './scope-head.js';
import { faultOf } from './scope-snapshot.js';

const key = createSecretKey(randomBytes(32));
const scope: HeadScope = { scope: 'srv:srv_a', epoch: 5, generation: 1, versionFloor: 0 };
const rows: HeadRow[] = [
  { key: 'A', version: 1, sealed: true, ciphertext: Buffer.from('a') },
  { key: 'B', version: 3, sealed: false, ciphertext: Buffer.from('b') },
  { key: 'C', version: 2, sealed: true, ciphertext: null },
];
const head = headOf(key, scope, rows);

test('the head is of what is there, in whatever order', () => {
  expect(headOf(key, scope, [...rows].reverse())).toEqual(head);
  expect(headOf(createSecretKey(randomBytes(32)), scope, rows)).not.toEqual(head);
});

const changed = (index: number, change: Partial<HeadRow>): HeadRow[] =>
  rows.map((row, at) => (at === index ? { ...row, ...change } : row));

test.each<[string, HeadScope, HeadRow[]]>([
  ['another epoch', { ...scope, epoch: 4 }, rows],
  ['another scope', { ...scope, scope: 'srv:srv_b' }, rows],
  ['another generation', { ...scope, generation: 2 }, rows],
  ['another floor', { ...scope, versionFloor: 1 }, rows],
  ['a row less', scope, rows.slice(1)],
  ['a deleted one less', scope, rows.slice(0, 2)],
  ['a row more', scope, [...rows, { key: 'D', version: 1, sealed: true, ciphertext: Buffer.from('d') }]],
  ['an older value', scope, changed(0, { ciphertext: Buffer.from('x') })],
  ['another version', scope, changed(1, { version: 2 })],
  ['another seal', scope, changed(1, { sealed: true })],
  ['another name', scope, changed(1, { key: 'BB' })],
  ['one come back', scope, changed(2, { ciphertext: Buffer.alloc(0) })],
])('%s makes another head', (_name, other, otherRows) => expect(headOf(key, other, otherRows)).not.toEqual(head));

test('a scope is ours with its own head, and not behind what the anchor knows', () => {
  const whole = { ...scope, head, kekId: '', wrappedSeed: Buffer.alloc(0) };
  expect(faultOf(key, { scope: whole, rows }, 5)).toBeNull();
  expect(faultOf(key, { scope: whole, rows }, 3)).toBeNull();
  expect(faultOf(key, { scope: whole, rows }, 6)).toBe('EPOCH_ROLLBACK');
  expect(faultOf(key, { scope: { ...whole, head: Buffer.alloc(0) }, rows }, 5)).toBe('HEAD_MISMATCH');
  expect(faultOf(key, { scope: whole, rows: rows.slice(1) }, 5)).toBe('HEAD_MISMATCH');
});

test('V-13: a fingerprint is equal for equal values of one key, differs everywhere else, and is no plain digest', () => {
  const value = Buffer.from('hunter2');
  const print = fingerprintOf(key, 'srv:srv_a', 'KEY', value);
  expect(print).toMatch(/^[0-9a-f]{16}$/);
  expect(fingerprintOf(key, 'srv:srv_a', 'KEY', value)).toBe(print);
  const others = [
    fingerprintOf(key, 'srv:srv_b', 'KEY', value),
    fingerprintOf(key, 'srv:srv_a', 'KEZ', value),
    fingerprintOf(key, 'srv:srv_a', 'KEY', Buffer.from('hunter3')),
    fingerprintOf(createSecretKey(randomBytes(32)), 'srv:srv_a', 'KEY', value),
    ...['md5', 'sha1', 'sha256', 'sha512'].map((name) => createHash(name).update(value).digest('hex').slice(0, 16)),
  ];
  expect(others).not.toContain(print);
});
