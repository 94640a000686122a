import { badField } from '../../../platform/errors/domain-error.js';
import { POWER_SIGNALS, type PowerSignal } from '../server-status.js';
import type { CronFields } from './cron-fields.js';
import { CronTimes } from './cron-times.js';
import type { TaskAction } from './schedule-task.entity.js';
import type { Schedule } from './schedule.entity.js';

export function cronFieldsOf(schedule: Schedule): CronFields {
  const { minute, hour, dayOfMonth, month, dayOfWeek } = schedule;
  return { minute, hour, day_of_month: dayOfMonth, month, day_of_week: dayOfWeek };
}

/** The times of the fields; 400 when they name a date that no calendar has. */
export function timesOf(fields: CronFields, timezone: string): CronTimes {
  const times = new CronTimes(fields, timezone);
  if (times.next(new Date()) === null) {
    throw badField('day_of_month', 'never', 'day_of_month and month name a date that never comes.');
  }
  return times;
}

/** What fits an action: a power signal, a line for the console, nothing for a backup. */
export function checkPayload(action: TaskAction, payload: string | null): void {
  if (action === 'backup') {
    if (payload !== null) throw badField('payload', 'not_allowed', 'payload must be absent for a backup.');
    return;
  }
  if (payload === null) throw badField('payload', 'required', `payload is needed for the action ${action}.`);
  if (action === 'power' && !isPowerSignal(payload)) {
    const allowed = POWER_SIGNALS;
    throw badField('payload', 'enum', `payload must be one of ${allowed.join(', ')} for the action power.`, {
      allowed,
    });
  }
  if (action === 'command' && payload.trim() === '') {
    throw badField('payload', 'min_length', 'payload must hold a command.');
  }
}

export function isPowerSignal(text: string): text is PowerSignal {
  return (POWER_SIGNALS as readonly string[]).includes(text);
}
