import { truncate } from './truncate.js';

test.each([
  ['', 3, ''],
  ['abc', 3, 'abc'],
  ['abcd', 3, 'abc'],
  ['ab😀', 4, 'ab😀'],
  ['ab😀', 3, 'ab'],
  ['ab😀 and more', 3, 'ab'],
  ['ab😀 and more', 4, 'ab😀'],
  ['😀😀', 3, '😀'],
  ['😀', 1, ''],
  ['äöü', 2, 'äö'],
  ['a\ud83db', 10, 'a\ufffdb'],
  ['a\ud83d', 2, 'a\ufffd'],
  ['\ude00b', 1, '\ufffd'],
])('%j of at most %i: %j', (text, max, expected) => {
  expect(truncate(text, max)).toBe(expected);
});
