import {
  BoolField,
  CustomField,
  IntField,
  ListField,
  NumberField,
  ObjectField,
  StringField,
  type Judge,
} from '../../../platform/http/fields.js';
import { judgeUtcMoment } from '../../../platform/http/moments.js';

export class ReportedInstance {
  @StringField({ min: 1, max: 63 })
  name!: string;

  @BoolField()
  running!: boolean;

  /** Nodes of an earlier release do not know. */
  @BoolField({ optional: true })
  interrupted?: boolean;

  @BoolField({ optional: true })
  mayResume?: boolean;
}

export class NodeReportDto {
  @StringField({ min: 1, max: 32, pattern: /^\d+\.\d+\.\d+$/ })
  agentVersion!: string;

  @ListField(() => ReportedInstance, { max: 10_000 })
  instances!: ReportedInstance[];

  @StringField({ max: 255, pattern: /^wss?:\/\/[\x21-\x7e]+$/, optional: true })
  consoleUrl?: string;
}

export class ExitDto {
  @IntField({ min: 0, max: 255 })
  code!: number;

  @StringField({ max: 16, nullable: true })
  signal!: string | null;

  @BoolField()
  outOfMemory!: boolean;
}

export class UsageDto {
  @CustomField(judgeUtcMoment, { type: 'string', format: 'date-time' })
  at!: string;

  @IntField({ min: 0, max: Number.MAX_SAFE_INTEGER })
  memoryBytes!: number;

  @NumberField({ min: 0, max: 1_000_000, nullable: true })
  cpuPercent!: number | null;
}

const MAX_LINES = 100;
const MAX_LINE = 1000;

const judgeLines: Judge = (value) => {
  const fits =
    Array.isArray(value) &&
    value.length <= MAX_LINES &&
    value.every((line) => typeof line === 'string' && line.length <= MAX_LINE && line.isWellFormed());
  return fits ? undefined : { code: 'lines', detail: `must be at most ${MAX_LINES} lines of ${MAX_LINE} characters` };
};

/** Nodes of an earlier release tell the exit only. */
export class InstanceEndDto {
  @ObjectField(() => ExitDto, { nullable: true })
  exit!: ExitDto | null;

  @CustomField(judgeLines, { type: 'array', items: { type: 'string' } }, { optional: true, nullable: true })
  output?: string[] | null;

  @ObjectField(() => UsageDto, { optional: true, nullable: true })
  usage?: UsageDto | null;
}
