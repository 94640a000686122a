import {
  BoolField,
  CustomField,
  EnumField,
  IntField,
  StringField,
  type Judge,
} from '../../../../platform/http/fields.js';
import { ApiProperty } from '../../../../platform/http/openapi-annotations.js';
import { cronValues, type CronField } from '../cron-fields.js';
import { RUN_STATUSES, TASK_RUN_STATUSES, type RunStatus, type TaskRunStatus } from '../schedule-run.entity.js';
import { MAX_COMMAND, MAX_COMMAND_BYTES, TASK_ACTIONS, type TaskAction } from '../schedule-task.entity.js';
import { isTimeZone } from '../wall-clock.js';

const CRON_HINTS: Record<CronField, string> = {
  minute: '0 to 59',
  hour: '0 to 23',
  day_of_month: '1 to 31',
  month: '1 to 12 or JAN to DEC',
  day_of_week: '0 to 7 or SUN to SAT; 0 and 7 are Sunday',
};

function CronFieldText(field: CronField): PropertyDecorator {
  const judge: Judge = (value) => {
    if (typeof value !== 'string') return { code: 'type', detail: 'must be text', meta: { expected: 'string' } };
    if (cronValues(field, value) !== undefined) return undefined;
    return { code: 'cron', detail: `must be a cron field of ${CRON_HINTS[field]}` };
  };
  const description = `Cron field, ${CRON_HINTS[field]}: a list of values and ranges, with steps, or *`;
  return CustomField(judge, { type: 'string' }, { optional: true, description });
}

const judgeZone: Judge = (value) => {
  if (typeof value !== 'string') return { code: 'type', detail: 'must be text', meta: { expected: 'string' } };
  if (isTimeZone(value)) return undefined;
  return { code: 'timezone', detail: 'must be the name of a time zone such as Europe/Berlin' };
};

export class ChangeScheduleDto {
  @StringField({ min: 1, max: 64, noControl: true, optional: true })
  name?: string;

  @CronFieldText('minute')
  minute?: string;

  @CronFieldText('hour')
  hour?: string;

  @CronFieldText('day_of_month')
  day_of_month?: string;

  @CronFieldText('month')
  month?: string;

  @CronFieldText('day_of_week')
  day_of_week?: string;

  @CustomField(judgeZone, { type: 'string' }, { optional: true, description: 'IANA time zone (UTC when absent).' })
  timezone?: string;

  @BoolField({ optional: true })
  isActive?: boolean;

  @BoolField({ optional: true, description: 'Skip runs while the service does not run.' })
  onlyWhenOnline?: boolean;
}

/** Cron fields that are absent are `*`. */
export class CreateScheduleDto extends ChangeScheduleDto {}

export class CreateTaskDto {
  @EnumField(TASK_ACTIONS)
  action!: TaskAction;

  @StringField({
    max: MAX_COMMAND,
    maxBytes: MAX_COMMAND_BYTES,
    noControl: true,
    optional: true,
    nullable: true,
    description: 'Power signal for `power`, text for the console for `command`; absent for `backup`.',
  })
  payload?: string | null;

  @IntField({ min: 0, max: 900, optional: true, description: 'Seconds after the task before it (0 when absent).' })
  timeOffset?: number;

  @BoolField({ optional: true, description: 'Go on with the next task when this one fails (false when absent).' })
  continueOnFailure?: boolean;
}

export class TaskView {
  @ApiProperty()
  id!: string;

  @ApiProperty({ type: 'integer', description: 'Place among the tasks, from 1' })
  sequence!: number;

  @ApiProperty({ enum: TASK_ACTIONS })
  action!: TaskAction;

  @ApiProperty({ type: String, nullable: true })
  payload!: string | null;

  @ApiProperty({ type: 'integer', description: 'Seconds after the task before it' })
  timeOffset!: number;

  @ApiProperty()
  continueOnFailure!: boolean;
}

export class ScheduleView {
  @ApiProperty()
  id!: string;

  @ApiProperty()
  name!: string;

  @ApiProperty()
  minute!: string;

  @ApiProperty()
  hour!: string;

  @ApiProperty()
  day_of_month!: string;

  @ApiProperty()
  month!: string;

  @ApiProperty()
  day_of_week!: string;

  @ApiProperty()
  timezone!: string;

  @ApiProperty()
  isActive!: boolean;

  @ApiProperty()
  onlyWhenOnline!: boolean;

  @ApiProperty({ type: Date, nullable: true })
  lastRunAt!: Date | null;

  @ApiProperty({ type: Date, nullable: true, description: 'Null while the schedule is inactive' })
  nextRunAt!: Date | null;

  @ApiProperty({ type: [TaskView] })
  tasks!: TaskView[];
}

export class AcceptedRun {
  @ApiProperty({ description: 'Ask `GET /operations/{id}` how it ended' })
  operationId!: string;

  @ApiProperty()
  runId!: string;
}

export class RunFault {
  @ApiProperty()
  code!: string;

  @ApiProperty()
  detail!: string;
}

export class RunTaskView {
  @ApiProperty()
  taskId!: string;

  @ApiProperty({ type: 'integer' })
  sequence!: number;

  @ApiProperty({ enum: TASK_ACTIONS })
  action!: TaskAction;

  @ApiProperty({ type: String, nullable: true })
  payload!: string | null;

  @ApiProperty({ enum: TASK_RUN_STATUSES })
  status!: TaskRunStatus;

  @ApiProperty({ type: String, nullable: true })
  operationId!: string | null;

  @ApiProperty({ type: RunFault, nullable: true })
  error!: RunFault | null;

  @ApiProperty({ type: Date, nullable: true })
  startedAt!: Date | null;

  @ApiProperty({ type: Date, nullable: true })
  finishedAt!: Date | null;
}

export class RunView {
  @ApiProperty()
  id!: string;

  @ApiProperty({ type: Date, nullable: true, description: 'When it was due; null for a run asked for by hand' })
  slot!: Date | null;

  @ApiProperty({ enum: RUN_STATUSES })
  status!: RunStatus;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Why it was skipped (missed, overlap, offline, not_ready, suspended), or what it failed by',
  })
  reason!: string | null;

  @ApiProperty({ type: String, nullable: true })
  operationId!: string | null;

  @ApiProperty({ type: [RunTaskView] })
  tasks!: RunTaskView[];

  @ApiProperty({ format: 'date-time' })
  createdAt!: Date;

  @ApiProperty({ type: Date, nullable: true })
  startedAt!: Date | null;

  @ApiProperty({ type: Date, nullable: true })
  finishedAt!: Date | null;
}
