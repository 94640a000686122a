import { parseRange, rangeHolds } from './byte-range.js';

describe('Range', () => {
  test.each<[header: string | undefined, size: number, wanted: ReturnType<typeof parseRange>]>([
    [undefined, 10, null],
    ['', 10, null],
    ['bytes=0-0', 10, { start: 0, end: 0 }],
    ['bytes=0-9', 10, { start: 0, end: 9 }],
    ['bytes=0-10', 10, { start: 0, end: 9 }],
    ['bytes=9-', 10, { start: 9, end: 9 }],
    ['bytes=3-', 10, { start: 3, end: 9 }],
    ['bytes= 3-4 ', 10, { start: 3, end: 4 }],
    ['BYTES=3-4', 10, { start: 3, end: 4 }],
    ['bytes=-1', 10, { start: 9, end: 9 }],
    ['bytes=-10', 10, { start: 0, end: 9 }],
    ['bytes=-11', 10, { start: 0, end: 9 }],
    ['bytes=4-99999999999999999999999999', 10, { start: 4, end: 9 }],
    ['bytes=10-', 10, 'unsatisfiable'],
    ['bytes=10-12', 10, 'unsatisfiable'],
    ['bytes=99999999999999999999999999-', 10, 'unsatisfiable'],
    ['bytes=-0', 10, 'unsatisfiable'],
    ['bytes=0-', 0, 'unsatisfiable'],
    ['bytes=-5', 0, 'unsatisfiable'],
    ['bytes=5-4', 10, null],
    ['bytes=-', 10, null],
    ['bytes=a-b', 10, null],
    ['bytes=1-2,4-5', 10, null],
    ['bytes=-1-2', 10, null],
    ['bytes=0x1-2', 10, null],
    ['lines=1-2', 10, null],
    ['bytes 1-2', 10, null],
    ['bytes=1-2\r\n', 10, null],
  ])('%j of %i bytes', (header, size, wanted) => {
    expect(parseRange(header, size)).toEqual(wanted);
  });
});

describe('If-Range', () => {
  test.each([
    [undefined, true],
    ['"abc"', true],
    [' "abc" ', true],
    ['"other"', false],
    ['W/"abc"', false],
    ['abc', false],
    ['Fri, 20 Nov 2026 10:00:00 GMT', false],
    ['', false],
  ])('%j', (header, wanted) => {
    expect(rangeHolds(header, '"abc"')).toBe(wanted);
  });
});
