/** The five cron fields as the API names them. */
export interface CronFields {
  minute: string;
  hour: string;
  day_of_month: string;
  month: string;
  day_of_week: string;
}

export const CRON_FIELDS = ['minute', 'hour', 'day_of_month', 'month', 'day_of_week'] as const;
export type CronField = (typeof CRON_FIELDS)[number];

export const MAX_CRON_FIELD = 200;

interface Range {
  min: number;
  max: number;
  names?: string[];
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

const RANGES: Record<CronField, Range> = {
  minute: { min: 0, max: 59 },
  hour: { min: 0, max: 23 },
  day_of_month: { min: 1, max: 31 },
  month: { min: 1, max: 12, names: MONTHS },
  day_of_week: { min: 0, max: 7, names: DAYS },
};

const PART = /^(?:\*|(\w+)(?:-(\w+))?)(?:\/(\d{1,2}))?$/;

/**
 * The values a field stands for, ascending, null for `*`; undefined when it is no cron field. What crontab(5) knows is
 * taken: lists, ranges, steps of `*` and of ranges, names of months and days; Sunday is 0 and 7.
 */
export function cronValues(field: CronField, text: string): number[] | null | undefined {
  if (text === '*' || text === '*/1') return null;
  if (text.length > MAX_CRON_FIELD) return undefined;
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const span = spanOf(part, RANGES[field]);
    if (!span) return undefined;
    for (let value = span.from; value <= span.to; value += span.step)
      values.add(field === 'day_of_week' ? value % 7 : value);
  }
  return [...values].sort((a, b) => a - b);
}

function spanOf(part: string, range: Range): { from: number; to: number; step: number } | undefined {
  const match = PART.exec(part);
  if (!match) return undefined;
  const [, first, last, every] = match;
  if (first !== undefined && last === undefined && every !== undefined) return undefined;
  const lowest = range.min;
  // Every day of the week is 0 to 6: a step over 0 to 7 would count Sunday twice.
  const highest = range.names === DAYS ? 6 : range.max;
  const from = first === undefined ? lowest : valueOf(first, range);
  const to = first === undefined ? highest : last === undefined ? from : valueOf(last, range, from);
  const step = every === undefined ? 1 : Number(every);
  if (from === undefined || to === undefined || from > to) return undefined;
  if (step < 1 || step > range.max - range.min + 1) return undefined;
  return { from, to, step };
}

/** A number within the range, or a name of it. Sunday that ends a range is the one after Saturday. */
function valueOf(text: string, { min, max, names }: Range, after = -1): number | undefined {
  const named = names?.indexOf(text.toUpperCase()) ?? -1;
  if (named >= 0) {
    const value = named + min;
    return names === DAYS && value === 0 && after > 0 ? 7 : value;
  }
  if (!/^\d{1,2}$/.test(text)) return undefined;
  const value = Number(text);
  return value >= min && value <= max ? value : undefined;
}
