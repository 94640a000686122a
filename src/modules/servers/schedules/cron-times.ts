import { Cron } from 'croner';
import { cronValues, type CronFields } from './cron-fields.js';
import { changeBetween, instantsOf, offsetAt } from './wall-clock.js';

const DAY_MS = 24 * 3600_000;

/**
 * When a schedule is due. The library walks the calendar in wall time, where no clock ever changes; what that means in real
 * time is decided here:
 * - a wall time that the clocks skip is due once, in the first moment after the gap;
 * - a wall time that they show twice is due the first time only;
 * - a schedule of every hour is due whenever the clocks show its minute: it neither catches up on a skipped hour nor pauses
 *   for a repeated one.
 */
export class CronTimes {
  private readonly calendar: Cron;
  private readonly everyHour: boolean;

  /** The fields must be valid. */
  constructor(
    fields: CronFields,
    private readonly zone: string,
  ) {
    const part = (values: number[] | null | undefined): string => values?.join(',') ?? '*';
    const hours = cronValues('hour', fields.hour);
    const pattern = [
      part(cronValues('minute', fields.minute)),
      part(hours),
      part(cronValues('day_of_month', fields.day_of_month)),
      part(cronValues('month', fields.month)),
      part(cronValues('day_of_week', fields.day_of_week)),
    ].join(' ');
    this.everyHour = !hours || hours.length === 24;
    // As cron has it: a day field that begins with a star is no choice of its own, even where it leaves days out.
    const domAndDow = fields.day_of_month.startsWith('*') || fields.day_of_week.startsWith('*');
    this.calendar = new Cron(pattern, { mode: '5-part', utcOffset: 0, domAndDow });
  }

  /** The first moment after this one; null when there never is one. */
  next(after: Date): Date | null {
    const instant = after.getTime();
    const due = this.everyHour ? this.nextShown(instant) : this.nextFirstShown(instant);
    return due === null ? null : new Date(due);
  }

  private nextFirstShown(after: number): number | null {
    const wall = this.wallAfter(this.newestWall(after));
    if (wall === null) return null;
    return instantsOf(this.zone, wall)[0] ?? changeBetween(this.zone, wall - DAY_MS, wall + DAY_MS)!.at;
  }

  private nextShown(after: number): number | null {
    const found: number[] = [];
    const change = changeBetween(this.zone, after, after + DAY_MS);
    if (change && change.after < change.before) {
      const again = this.wallAfter(change.at + change.after - 1);
      if (again !== null) found.push(...instantsOf(this.zone, again));
    }
    for (let wall = this.wallAfter(this.wallAt(after)); wall !== null; wall = this.wallAfter(wall)) {
      const shown = instantsOf(this.zone, wall);
      found.push(...shown);
      if (shown.length > 0) break;
    }
    const due = Math.min(...found.filter((instant) => instant > after));
    return Number.isFinite(due) ? due : null;
  }

  /** The latest wall time that clocks have shown by this instant; while they show an hour again, its end. */
  private newestWall(instant: number): number {
    const wall = this.wallAt(instant);
    const [first, second] = instantsOf(this.zone, wall);
    if (second === undefined || instant < second) return wall;
    const { at, before } = changeBetween(this.zone, first!, second)!;
    return at + before - 1;
  }

  private wallAt(instant: number): number {
    return instant + offsetAt(this.zone, instant);
  }

  private wallAfter(wall: number): number | null {
    return this.calendar.nextRun(new Date(wall))?.getTime() ?? null;
  }
}
