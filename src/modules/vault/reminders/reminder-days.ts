const DAY_MS = 86_400_000;
const AHEAD_DAYS = 7;
/** How late a reminder is still worth sending, when nobody could send it in time. */
const LATE_DAYS = 7;

export type Reminder = 'week' | 'day';

export interface Expiring {
  /** `YYYY-MM-DD`. */
  expiresAt: string;
  /** When the value was set: who sets one within the last days knows the date. */
  valueSetAt: Date;
  weekReminded: boolean;
  dayReminded: boolean;
}

/** The first and the last day of expiry that may have something due on this day. */
export function expiryWindow(now: Date): { from: string; to: string } {
  return { from: shifted(dayOf(now), -LATE_DAYS), to: shifted(dayOf(now), AHEAD_DAYS) };
}

/**
 * What the account is to be told on this day (in UTC): seven days before and on the day, each once. One that is late is told
 * all the same, but not any more when the next one is due.
 */
export function dueReminder(secret: Expiring, now: Date): Reminder | null {
  const today = dayOf(now);
  const set = dayOf(secret.valueSetAt);
  const day = secret.expiresAt;
  const week = shifted(day, -AHEAD_DAYS);
  if (today >= day) {
    const late = today > shifted(day, LATE_DAYS);
    return secret.dayReminded || late || set > day ? null : 'day';
  }
  return today >= week && set <= week && !secret.weekReminded ? 'week' : null;
}

export function daysUntil(expiresAt: string, now: Date): number {
  return Math.round((Date.parse(expiresAt) - Date.parse(dayOf(now))) / DAY_MS);
}

function dayOf(moment: Date): string {
  return moment.toISOString().slice(0, 10);
}

function shifted(day: string, days: number): string {
  return dayOf(new Date(Date.parse(day) + days * DAY_MS));
}
