import { CustomField, IdField, ListField, StringField, type Judge } from '../../../platform/http/fields.js';
import { MAX_SECRETS, SECRET_KEY } from '../vault-rules.js';

export const MAX_READS = 500;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;

const judgeMoment: Judge = (value) =>
  typeof value === 'string' && MOMENT.test(value) && !Number.isNaN(Date.parse(value))
    ? undefined
    : { code: 'moment', detail: 'must be a moment in UTC' };

/** Those of the service and those of its account. */
const MAX_KEYS = 2 * MAX_SECRETS;

const judgeKeys: Judge = (value) =>
  Array.isArray(value) &&
  value.length <= MAX_KEYS &&
  value.every((key) => typeof key === 'string' && SECRET_KEY.test(key))
    ? undefined
    : { code: 'keys', detail: 'must be names of secrets' };

export class NodeReadDto {
  @StringField({ pattern: UUID })
  id!: string;

  @IdField('srv')
  serverId!: string;

  @StringField({ min: 1, max: 45, pattern: /^[0-9A-Fa-f.:]+$/ })
  address!: string;

  @CustomField(judgeMoment, { type: 'string', format: 'date-time' })
  at!: string;

  @StringField({ min: 1, max: 64, pattern: /^[\x20-\x7e]+$/, nullable: true })
  refused!: string | null;
}

export class NodeReadsDto {
  @ListField(() => NodeReadDto, { max: MAX_READS })
  reads!: NodeReadDto[];
}

export class ServedReadDto extends NodeReadDto {
  @CustomField(judgeKeys, { type: 'array', items: { type: 'string' } })
  keys!: string[];
}

export class ServedReadsDto {
  @ListField(() => ServedReadDto, { max: MAX_READS })
  reads!: ServedReadDto[];
}
