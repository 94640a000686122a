import type { Judge } from './fields.js';

/** A day alone, such as 2031-12-31. */
export const DAY = /^\d{4}-\d\d-\d\d$/;
/** A moment in UTC, as programs write it. */
export const UTC_MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;

/**
 * The time that a text of this form stands for, in milliseconds; NaN when it is none, or of a day that does not exist: `Date`
 * takes the 30th of February for the 2nd of March. The form must begin with a day.
 */
export function timeOf(value: unknown, form: RegExp): number {
  if (typeof value !== 'string' || !form.test(value)) return Number.NaN;
  const day = value.slice(0, 10);
  const midnight = Date.parse(day);
  const exists = !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(day);
  return exists ? Date.parse(value) : Number.NaN;
}

export const judgeUtcMoment: Judge = (value) =>
  Number.isNaN(timeOf(value, UTC_MOMENT))
    ? { code: 'date', detail: 'must be a moment such as 2031-12-31T00:00:00Z' }
    : undefined;
