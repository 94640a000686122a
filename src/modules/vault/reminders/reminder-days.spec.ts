import { daysUntil, dueReminder, expiryWindow, type Expiring } from './reminder-days.js';

const EXPIRES = '2026-03-10';
const at = (day: string, time = '12:00:00'): Date => new Date(`${day}T${time}Z`);

function due(today: string, more: Partial<Expiring> = {}): string | null {
  const secret = { expiresAt: EXPIRES, valueSetAt: at('2026-01-01'), weekReminded: false, dayReminded: false, ...more };
  return dueReminder(secret, at(today));
}

test.each<[today: string, reminder: string | null]>([
  ['2026-03-02', null],
  ['2026-03-03', 'week'],
  ['2026-03-05', 'week'],
  ['2026-03-09', 'week'],
  ['2026-03-10', 'day'],
  ['2026-03-12', 'day'],
  ['2026-03-17', 'day'],
  ['2026-03-18', null],
])('on %s: %s', (today, reminder) => expect(due(today)).toBe(reminder));

test('each is due once', () => {
  expect(due('2026-03-05', { weekReminded: true })).toBeNull();
  expect(due('2026-03-10', { weekReminded: true })).toBe('day');
  expect(due('2026-03-10', { dayReminded: true })).toBeNull();
});

test('who sets a value in the last days is not told at once, but on the day', () => {
  expect(due('2026-03-03', { valueSetAt: at('2026-03-03') })).toBe('week');
  expect(due('2026-03-05', { valueSetAt: at('2026-03-04') })).toBeNull();
  expect(due('2026-03-10', { valueSetAt: at('2026-03-10') })).toBe('day');
  expect(due('2026-03-12', { valueSetAt: at('2026-03-11') })).toBeNull();
});

test('the window holds every day that something may be due for', () => {
  for (let offset = -20; offset <= 20; offset++) {
    const now = new Date(Date.parse(EXPIRES) + offset * 86_400_000);
    const { from, to } = expiryWindow(now);
    if (due(now.toISOString().slice(0, 10))) expect(EXPIRES >= from && EXPIRES <= to).toBe(true);
  }
});

test('days are counted in UTC, at any hour', () => {
  expect(daysUntil(EXPIRES, at('2026-03-03', '00:00:00'))).toBe(7);
  expect(daysUntil(EXPIRES, at('2026-03-03', '23:59:59'))).toBe(7);
  expect(daysUntil(EXPIRES, at('2026-03-12'))).toBe(-2);
});
