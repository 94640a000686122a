import { fc } from '../../../../test/support/fast-check.js';
import { CRON_FIELDS, cronValues, type CronField, type CronFields } from './cron-fields.js';
import { CronTimes } from './cron-times.js';
import { isTimeZone } from './wall-clock.js';

const MINUTE = 60_000;

function fields(text: string): CronFields {
  const [minute, hour, day_of_month, month, day_of_week] = text.split(' ') as [string, string, string, string, string];
  return { minute, hour, day_of_month, month, day_of_week };
}

/** The next `count` moments, in UTC. */
function moments(text: string, zone: string, after: string, count: number): string[] {
  const times = new CronTimes(fields(text), zone);
  const found: string[] = [];
  let at: Date | null = new Date(after);
  while (found.length < count && (at = times.next(at))) found.push(at.toISOString().slice(0, 16));
  return found;
}

describe('clocks go forward: what they skip is due once, right after the gap', () => {
  test.each([
    // Berlin 2026-03-29: 02:00 CET -> 03:00 CEST at 01:00Z.
    ['30 2 * * *', 'Europe/Berlin', '2026-03-27T12:00Z', ['2026-03-28T01:30', '2026-03-29T01:00', '2026-03-30T00:30']],
    ['0 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', ['2026-03-29T01:00', '2026-03-30T00:00']],
    ['0,15,45 2 * * *', 'Europe/Berlin', '2026-03-29T00:00Z', ['2026-03-29T01:00', '2026-03-30T00:00']],
    ['0 2,3 * * *', 'Europe/Berlin', '2026-03-29T00:00Z', ['2026-03-29T01:00', '2026-03-30T00:00']],
    [
      '30 2,3 * * *',
      'Europe/Berlin',
      '2026-03-29T00:00Z',
      ['2026-03-29T01:00', '2026-03-29T01:30', '2026-03-30T00:30'],
    ],
    ['30 2 29 3 *', 'Europe/Berlin', '2026-01-01T00:00Z', ['2026-03-29T01:00', '2027-03-29T00:30']],
    // New York 2026-03-08: 02:00 -> 03:00 at 07:00Z.
    ['15 2 * * 0', 'America/New_York', '2026-03-02T00:00Z', ['2026-03-08T07:00', '2026-03-15T06:15']],
    // Sydney 2026-10-04: 02:00 -> 03:00 at 16:00Z the day before.
    ['30 2 * * *', 'Australia/Sydney', '2026-10-02T17:00Z', ['2026-10-03T16:00', '2026-10-04T15:30']],
    // Lord Howe 2026-10-04: 02:00 -> 02:30 at 15:30Z the day before; half an hour only.
    ['15 2 * * *', 'Australia/Lord_Howe', '2026-10-02T20:00Z', ['2026-10-03T15:30', '2026-10-04T15:15']],
    ['45 2 * * *', 'Australia/Lord_Howe', '2026-10-02T20:00Z', ['2026-10-03T15:45', '2026-10-04T15:45']],
    // Santiago 2026-09-06: midnight is skipped, 00:00 -> 01:00 at 04:00Z.
    ['0 0 * * *', 'America/Santiago', '2026-09-05T05:00Z', ['2026-09-06T04:00', '2026-09-07T03:00']],
    // Apia had no 30 December 2011.
    ['0 12 * * *', 'Pacific/Apia', '2011-12-29T00:00Z', ['2011-12-29T22:00', '2011-12-30T10:00', '2011-12-30T22:00']],
  ])('%s in %s', (text, zone, after, expected) => {
    expect(moments(text, zone, after, expected.length)).toEqual(expected);
  });

  test('a schedule of every hour goes on with the clocks, and is not due twice', () => {
    expect(moments('0 * * * *', 'Europe/Berlin', '2026-03-28T23:30Z', 3)).toEqual([
      '2026-03-29T00:00',
      '2026-03-29T01:00',
      '2026-03-29T02:00',
    ]);
    expect(moments('15 * * * *', 'Europe/Berlin', '2026-03-29T00:00Z', 2)).toEqual([
      '2026-03-29T00:15',
      '2026-03-29T01:15',
    ]);
  });
});

describe('clocks go back: what they show twice is due the first time', () => {
  test.each([
    // Berlin 2026-10-25: 03:00 CEST -> 02:00 CET at 01:00Z.
    ['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', ['2026-10-25T00:30', '2026-10-26T01:30']],
    ['30 2 * * *', 'Europe/Berlin', '2026-10-25T01:10Z', ['2026-10-26T01:30']],
    ['0 3 * * *', 'Europe/Berlin', '2026-10-25T00:59Z', ['2026-10-25T02:00']],
    [
      '*/20 2 * * *',
      'Europe/Berlin',
      '2026-10-25T00:00Z',
      ['2026-10-25T00:20', '2026-10-25T00:40', '2026-10-26T01:00'],
    ],
    // New York 2026-11-01: 02:00 -> 01:00 at 06:00Z.
    ['30 1 * * *', 'America/New_York', '2026-10-31T12:00Z', ['2026-11-01T05:30', '2026-11-02T06:30']],
    // Sydney 2026-04-05: 03:00 -> 02:00 at 16:00Z the day before.
    ['30 2 * * *', 'Australia/Sydney', '2026-04-04T10:00Z', ['2026-04-04T15:30', '2026-04-05T16:30']],
    // Lord Howe 2026-04-05: 02:00 -> 01:30 at 15:00Z the day before.
    ['45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T10:00Z', ['2026-04-04T14:45', '2026-04-05T15:15']],
    ['15 1 * * *', 'Australia/Lord_Howe', '2026-04-04T10:00Z', ['2026-04-04T14:15', '2026-04-05T14:45']],
    // Santiago 2026-04-05: 24:00 -> 23:00 at 03:00Z, so that the day before has 25 hours.
    ['30 23 * * *', 'America/Santiago', '2026-04-04T12:00Z', ['2026-04-05T02:30', '2026-04-06T03:30']],
    ['0 0 * * *', 'America/Santiago', '2026-04-04T12:00Z', ['2026-04-05T04:00', '2026-04-06T04:00']],
  ])('%s in %s', (text, zone, after, expected) => {
    expect(moments(text, zone, after, expected.length)).toEqual(expected);
  });

  test('a schedule of every hour does not pause for the repeated one', () => {
    expect(moments('30 * * * *', 'Europe/Berlin', '2026-10-24T23:00Z', 4)).toEqual([
      '2026-10-24T23:30',
      '2026-10-25T00:30',
      '2026-10-25T01:30',
      '2026-10-25T02:30',
    ]);
    expect(moments('*/15 * * * *', 'Australia/Lord_Howe', '2026-04-04T14:44Z', 4)).toEqual([
      '2026-04-04T14:45',
      '2026-04-04T15:00',
      '2026-04-04T15:15',
      '2026-04-04T15:30',
    ]);
  });
});

describe('zones of half and quarter hours', () => {
  test.each([
    ['30 9 * * *', 'Asia/Kolkata', '2026-06-01T00:00Z', ['2026-06-01T04:00', '2026-06-02T04:00']],
    ['0 0 1 * *', 'Asia/Kathmandu', '2026-06-01T00:00Z', ['2026-06-30T18:15', '2026-07-31T18:15']],
    ['0 12 * * *', 'America/St_Johns', '2026-03-07T00:00Z', ['2026-03-07T15:30', '2026-03-08T14:30']],
    ['0 12 * * *', 'Pacific/Chatham', '2026-04-03T12:00Z', ['2026-04-03T22:15', '2026-04-04T23:15']],
  ])('%s in %s', (text, zone, after, expected) => {
    expect(moments(text, zone, after, expected.length)).toEqual(expected);
  });
});

describe('the calendar', () => {
  test('Sunday is 0 and 7', () => {
    const sundays = moments('0 0 * * 0', 'UTC', '2026-01-01T00:00Z', 5);
    expect(moments('0 0 * * 7', 'UTC', '2026-01-01T00:00Z', 5)).toEqual(sundays);
    expect(moments('0 0 * * SUN', 'UTC', '2026-01-01T00:00Z', 5)).toEqual(sundays);
    expect(cronValues('day_of_week', '5-7')).toEqual([0, 5, 6]);
    expect(cronValues('day_of_week', 'fri-sun')).toEqual([0, 5, 6]);
  });

  test('two restricted day fields mean either, one that begins with a star restricts the other', () => {
    expect(moments('0 0 13 * 5', 'UTC', '2026-02-01T00:00Z', 4)).toEqual([
      '2026-02-06T00:00',
      '2026-02-13T00:00',
      '2026-02-20T00:00',
      '2026-02-27T00:00',
    ]);
    expect(moments('0 0 13 * *', 'UTC', '2026-02-01T00:00Z', 2)).toEqual(['2026-02-13T00:00', '2026-03-13T00:00']);
    // Mondays that are the 1st, 11th, 21st or 31st.
    expect(moments('0 0 */10 * 1', 'UTC', '2026-02-01T00:00Z', 4)).toEqual([
      '2026-05-11T00:00',
      '2026-06-01T00:00',
      '2026-08-31T00:00',
      '2026-09-21T00:00',
    ]);
    // The 13th when it is a Sunday, a Tuesday, a Thursday or a Saturday.
    expect(moments('0 0 13 * */2', 'UTC', '2026-02-01T00:00Z', 3)).toEqual([
      '2026-06-13T00:00',
      '2026-08-13T00:00',
      '2026-09-13T00:00',
    ]);
    expect(moments('0 0 */2,2 * 1', 'UTC', '2026-02-01T00:00Z', 2)).toEqual(['2026-02-02T00:00', '2026-02-09T00:00']);
    // These leave no day out, and yet are no star.
    expect(moments('0 0 1-31 * 1', 'UTC', '2026-02-01T00:00Z', 2)).toEqual(['2026-02-02T00:00', '2026-02-03T00:00']);
    expect(moments('0 0 13 * 0-6', 'UTC', '2026-02-01T00:00Z', 2)).toEqual(['2026-02-02T00:00', '2026-02-03T00:00']);
  });

  test('leap days are found, past a year without one too', () => {
    expect(moments('0 0 29 2 *', 'UTC', '2096-03-01T00:00Z', 1)).toEqual(['2104-02-29T00:00']);
  });

  test.each(['0 0 30 2 *', '0 0 31 4,6,9,11 *'])('%s never comes', (text) => {
    expect(new CronTimes(fields(text), 'Europe/Berlin').next(new Date())).toBeNull();
  });
});

describe('fields', () => {
  test.each<[CronField, string, number[] | null]>([
    ['minute', '*', null],
    ['minute', '*/1', null],
    ['minute', '0,59', [0, 59]],
    ['minute', '*/20', [0, 20, 40]],
    ['minute', '50-59/4', [50, 54, 58]],
    ['minute', '05', [5]],
    ['hour', '22-23,1', [1, 22, 23]],
    ['month', 'jan,MAR-May', [1, 3, 4, 5]],
    ['day_of_week', '*/3', [0, 3, 6]],
    ['day_of_week', '0-7', [0, 1, 2, 3, 4, 5, 6]],
    ['day_of_week', 'MON-FRI', [1, 2, 3, 4, 5]],
  ])('%s %s', (field, text, expected) => {
    expect(cronValues(field, text)).toEqual(expected);
  });

  test.each<[CronField, string]>([
    ['minute', ''],
    ['minute', ' 5'],
    ['minute', '5 '],
    ['minute', '60'],
    ['minute', '-1'],
    ['minute', '1.5'],
    ['minute', '5/15'],
    ['minute', '*/0'],
    ['minute', '*/61'],
    ['minute', '9-3'],
    ['minute', '1,,2'],
    ['minute', ',1'],
    ['minute', '1-'],
    ['minute', '1-2-3'],
    ['minute', '*,'],
    ['minute', '**'],
    ['minute', '*-5'],
    ['minute', '?'],
    ['minute', 'H'],
    ['minute', '@hourly'],
    ['minute', '0x5'],
    ['minute', '١'],
    ['minute', '1,'.repeat(120) + '1'],
    ['hour', '24'],
    ['day_of_month', '0'],
    ['day_of_month', '32'],
    ['day_of_month', 'L'],
    ['day_of_month', '15W'],
    ['month', '13'],
    ['month', '0'],
    ['month', 'January'],
    ['day_of_week', '8'],
    ['day_of_week', '5#2'],
    ['day_of_week', 'SAT-MON'],
    ['hour', 'MON'],
  ])('%s "%s" is refused', (field, text) => {
    expect(cronValues(field, text)).toBeUndefined();
  });

  test.each(['UTC', 'Europe/Berlin', 'Asia/Kolkata', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5'])(
    'zone %s',
    (zone) => {
      expect(isTimeZone(zone)).toBe(true);
    },
  );

  test.each(['', 'Mars/Olympus', '+05:30', 'Europe/Berlin ', '../etc/passwd', 'Europe', `A/${'a'.repeat(70)}`])(
    'no zone: "%s"',
    (zone) => {
      expect(isTimeZone(zone)).toBe(false);
    },
  );
});

/**
 * An oracle that shares nothing with what it judges: it looks at the clock of the zone minute by minute, notes what was
 * shown before, and matches each field by reading its text.
 */
class Watcher {
  private readonly clock: Intl.DateTimeFormat;

  constructor(
    private readonly cron: CronFields,
    zone: string,
  ) {
    this.clock = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
  }

  watch(from: number, minutes: number): string[] {
    const everyHour = this.all(
      'hour',
      Array.from({ length: 24 }, (_, hour) => hour),
    );
    const shown = new Set<string>();
    const due: string[] = [];
    // Two days ahead of what is asked for, so that a change right at its begin is known for what it is.
    let previous = this.read(from - 2881 * MINUTE);
    for (let at = from - 2880 * MINUTE; at < from + minutes * MINUTE; at += MINUTE) {
      const now = this.read(at);
      const skipped = everyHour ? [] : this.between(previous, now);
      const fresh = everyHour || !shown.has(now);
      if (at > from && ([...skipped].some((wall) => this.matches(wall)) || (fresh && this.matches(now)))) {
        due.push(new Date(at).toISOString().slice(0, 16));
      }
      shown.add(now);
      previous = now;
    }
    return due;
  }

  private read(at: number): string {
    return this.clock.format(at);
  }

  /** Wall times that lie between two shown one after the other. */
  private *between(previous: string, now: string): Generator<string> {
    const end = Date.parse(`${now.replace(' ', 'T')}Z`);
    for (let at = Date.parse(`${previous.replace(' ', 'T')}Z`) + MINUTE; at < end; at += MINUTE) {
      yield new Date(at).toISOString().slice(0, 16).replace('T', ' ');
    }
  }

  private matches(wall: string): boolean {
    const [, month = 0, day = 0, hour = 0, minute = 0] = /-(\d+)-(\d+) (\d+):(\d+)/.exec(wall)!.map(Number);
    const weekday = new Date(`${wall.slice(0, 10)}T00:00:00Z`).getUTCDay();
    const { day_of_month, day_of_week } = this.cron;
    const byDate = this.one('day_of_month', day);
    const byWeekday = this.one('day_of_week', weekday) || (weekday === 0 && this.one('day_of_week', 7));
    const both = day_of_month.startsWith('*') || day_of_week.startsWith('*');
    const dayFits = both ? byDate && byWeekday : byDate || byWeekday;
    return this.one('minute', minute) && this.one('hour', hour) && this.one('month', month) && dayFits;
  }

  private all(field: CronField, values: number[]): boolean {
    return values.every((value) => this.one(field, value));
  }

  private one(field: CronField, value: number): boolean {
    const base = field === 'day_of_month' || field === 'month' ? 1 : 0;
    return this.cron[field].split(',').some((part) => {
      const [span, step = '1'] = part.split('/') as [string, string?];
      const [low, high] = span === '*' ? [base, 99] : (span.split('-').map(Number) as [number, number?]);
      return value >= low && value <= (high ?? low) && (value - low) % Number(step) === 0;
    });
  }
}

const BOUNDS: Record<CronField, [number, number]> = {
  minute: [0, 59],
  hour: [0, 23],
  day_of_month: [1, 31],
  month: [1, 12],
  day_of_week: [0, 7],
};

function fieldText(field: CronField): fc.Arbitrary<string> {
  const [min, max] = BOUNDS[field];
  const value = fc.integer({ min, max });
  const range = fc.tuple(value, value).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);
  const part = fc.oneof(
    value.map(String),
    range.map(([a, b]) => `${a}-${b}`),
    fc.tuple(range, fc.integer({ min: 1, max: 7 })).map(([[a, b], step]) => `${a}-${b}/${step}`),
    fc.integer({ min: 2, max: Math.min(field === 'day_of_week' ? 6 : 12, max) }).map((step) => `*/${step}`),
  );
  const list = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(','));
  // The days watched are few: what asks for a month or a date is mostly not due on them, and proves little.
  const open = field === 'minute' || field === 'hour' ? 1 : 8;
  return fc.oneof({ weight: open, arbitrary: fc.constant('*') }, { weight: 3, arbitrary: list });
}

/** Days around a change of the clocks, and one without. */
const CHANGES: [zone: string, around: string][] = [
  ['Europe/Berlin', '2026-03-29T01:00Z'],
  ['Europe/Berlin', '2026-10-25T01:00Z'],
  ['America/New_York', '2026-03-08T07:00Z'],
  ['America/New_York', '2026-11-01T06:00Z'],
  ['Australia/Sydney', '2026-10-03T16:00Z'],
  ['Australia/Sydney', '2026-04-04T16:00Z'],
  ['Australia/Lord_Howe', '2026-10-03T15:30Z'],
  ['Australia/Lord_Howe', '2026-04-04T15:00Z'],
  ['America/Santiago', '2026-09-06T04:00Z'],
  ['America/Santiago', '2026-04-05T03:00Z'],
  ['Africa/Cairo', '2026-04-23T22:00Z'],
  ['Africa/Casablanca', '2026-02-15T02:00Z'],
  ['Antarctica/Troll', '2026-03-29T01:00Z'],
  ['Pacific/Apia', '2011-12-30T10:00Z'],
  ['Asia/Kolkata', '2026-06-01T00:00Z'],
  ['Pacific/Chatham', '2026-04-04T14:00Z'],
];

test('agrees with somebody who watches the clock, around every kind of change', () => {
  const cron = fc.record(
    Object.fromEntries(CRON_FIELDS.map((field) => [field, fieldText(field)])) as Record<
      CronField,
      fc.Arbitrary<string>
    >,
  );
  let due = 0;
  fc.assert(
    fc.property(
      cron,
      fc.constantFrom(...CHANGES),
      fc.integer({ min: 0, max: 1440 }),
      (wanted, [zone, around], lead) => {
        const from = Date.parse(around) - lead * MINUTE;
        const minutes = 2000;
        const times = new CronTimes(wanted, zone);
        const found: string[] = [];
        for (let at = times.next(new Date(from)); at && at.getTime() < from + minutes * MINUTE; at = times.next(at)) {
          found.push(at.toISOString().slice(0, 16));
          if (found.length > 2 * minutes) break;
        }
        due += found.length > 0 ? 1 : 0;
        expect(found).toEqual(new Watcher(wanted, zone).watch(from, minutes));
      },
    ),
    { numRuns: 120 },
  );
  expect(due).toBeGreaterThan(40);
}, 60_000);
