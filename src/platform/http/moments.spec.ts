import { DAY, judgeUtcMoment, timeOf, UTC_MOMENT } from './moments.js';

test.each(['2026-02-28', '2028-02-29', '2000-02-29', '2026-12-31', '0001-01-01'])('%s is a day', (day) => {
  expect(timeOf(day, DAY)).toBe(Date.parse(`${day}T00:00:00Z`));
  expect(timeOf(`${day}T23:59:59.123456789Z`, UTC_MOMENT)).toBe(Date.parse(`${day}T23:59:59.123Z`));
});

test.each([
  '2026-02-29',
  '2026-02-30',
  '2026-02-31',
  '1900-02-29',
  '2026-04-31',
  '2026-00-01',
  '2026-13-01',
  '2026-01-00',
])('%s is none', (day) => {
  expect(timeOf(day, DAY)).toBeNaN();
  expect(timeOf(`${day}T00:00:00Z`, UTC_MOMENT)).toBeNaN();
  expect(judgeUtcMoment(`${day}T00:00:00Z`)).toMatchObject({ code: 'date' });
});

test.each([
  '2026-01-01',
  '2026-01-01T25:00:00Z',
  '2026-01-01T00:60:00Z',
  '2026-01-01T00:00:00',
  '',
  5,
  null,
  undefined,
])('%p is no moment', (value) => {
  expect(timeOf(value, UTC_MOMENT)).toBeNaN();
});
