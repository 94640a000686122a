import { lastLines } from './last-lines.js';

test('the newest hundred lines, in their order', () => {
  const console = Array.from({ length: 250 }, (_, number) => `line ${number}\r\n`).join('');
  const lines = lastLines(console);
  expect(lines).toHaveLength(100);
  expect([lines[0], lines.at(-1)]).toEqual(['line 150', 'line 249']);
});

test('an unfinished last line counts, empty lines inside do', () => {
  expect(lastLines('a\n\nb')).toEqual(['a', '', 'b']);
  expect(lastLines('')).toEqual([]);
  expect(lastLines('\r\n')).toEqual(['']);
});

test('whatever a program prints stays within bounds', () => {
  expect(lastLines('x'.repeat(1_000_000))).toEqual(['x'.repeat(1000)]);
  const fat = lastLines(`${'y'.repeat(999)}\n`.repeat(1000));
  expect(fat.join('').length).toBeLessThanOrEqual(32 * 1024);
  expect(fat.length).toBeGreaterThan(30);
});

test('no half characters, no NUL', () => {
  const [line] = lastLines(`${'a'.repeat(999)}\u{1f600}\0`);
  expect(line!.isWellFormed()).toBe(true);
  expect(lastLines('a\0b')).toEqual(['ab']);
});
