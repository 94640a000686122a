import { Interruptions } from './interruptions.js';

const seen = (...names: string[]) => ['a', 'b', 'c'].map((name) => ({ name, interrupted: names.includes(name) }));
const among = (interruptions: Interruptions, names: string, now: number) =>
  Object.fromEntries(interruptions.among(seen(...names), now));

test('what an engine went down with is told at once, and surely after a while', () => {
  const interruptions = new Interruptions();
  expect(among(interruptions, 'ab', 0)).toEqual({ a: false, b: false });
  expect(among(interruptions, 'ab', 10)).toEqual({ a: false, b: false });
  // One of them had just ended by itself, and another ends now.
  expect(among(interruptions, 'ac', 5000)).toEqual({ a: true, c: false });
  expect(among(interruptions, 'abc', 10_000)).toEqual({ a: true, b: false, c: false });
  // Nobody ever took note of its end.
  expect(among(interruptions, 'c', 35_000)).toEqual({ c: true });
});

test('each time that it comes back is looked at anew', () => {
  const interruptions = new Interruptions();
  expect(among(interruptions, '', 0)).toEqual({});
  expect(among(interruptions, 'b', 5000)).toEqual({ b: false });
  interruptions.begin();
  expect(among(interruptions, 'b', 6000)).toEqual({ b: false });
  expect(among(interruptions, 'b', 11_000)).toEqual({ b: true });
});
