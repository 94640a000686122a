/*
 * Local time of IANA zones. A wall time is what clocks of the zone show, kept as the milliseconds that UTC would call by
 * the same name: 02:30 in any zone is `Date.UTC(..., 2, 30)`.
 */

const DAY_MS = 24 * 3600_000;
const ZONE = /^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/;
const MAX_CLOCKS = 1000;

const clocks = new Map<string, Intl.DateTimeFormat>();

/** Whether this is the name of a zone that the time zone database knows. A bare offset is none: it has no summer time. */
export function isTimeZone(zone: string): boolean {
  if (zone.length > 64 || !ZONE.test(zone)) return false;
  try {
    clockOf(zone);
    return true;
  } catch {
    return false;
  }
}

/** What is to be added to an instant to get the zone's wall time. */
export function offsetAt(zone: string, instant: number): number {
  const whole = Math.floor(instant / 1000) * 1000;
  const parts: Record<string, number> = {};
  for (const { type, value } of clockOf(zone).formatToParts(whole)) parts[type] = Number(value);
  const { year, month, day, hour, minute, second } = parts;
  return Date.UTC(year!, month! - 1, day, hour, minute, second) - whole;
}

/** The instants at which clocks of the zone show this wall time: one, none when they skip it, two when they show it twice. */
export function instantsOf(zone: string, wall: number): number[] {
  const offsets = [...new Set([offsetAt(zone, wall - DAY_MS), offsetAt(zone, wall + DAY_MS)])];
  return offsets
    .map((offset) => wall - offset)
    .filter((instant) => instant + offsetAt(zone, instant) === wall)
    .sort((a, b) => a - b);
}

/** A change of the zone's offset. */
export interface ClockChange {
  /** First instant of the new offset. */
  at: number;
  before: number;
  after: number;
}

/** The change between two instants at most two days apart; null when the offset is the same at both. */
export function changeBetween(zone: string, from: number, to: number): ClockChange | null {
  const before = offsetAt(zone, from);
  const after = offsetAt(zone, to);
  if (before === after) return null;
  let [early, late] = [from, to];
  while (late - early > 1) {
    const middle = Math.floor((early + late) / 2);
    if (offsetAt(zone, middle) === before) early = middle;
    else late = middle;
  }
  return { at: late, before, after };
}

function clockOf(zone: string): Intl.DateTimeFormat {
  let clock = clocks.get(zone);
  if (!clock) {
    clock = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'iso8601',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    // Spellings differ in case only, but they are the caller's: what they make is bounded.
    if (clocks.size >= MAX_CLOCKS) clocks.clear();
    clocks.set(zone, clock);
  }
  return clock;
}
