import { CustomField, type Judge } from '../../../platform/http/fields.js';
import { judgeUtcMoment } from '../../../platform/http/moments.js';
import { isId } from '../../../platform/ids/id.js';
import type { ServedRead, VaultRead } from '../../../platform/internal-api/vault-reads.contract.js';
import { MAX_SECRETS, SECRET_KEY } from '../vault-rules.js';

export const MAX_READS = 500;
/** Those of the service and those of its account. */
const MAX_KEYS = 2 * MAX_SECRETS;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const ADDRESS = /^[0-9A-Fa-f.:]{1,45}$/;
const REASON = /^[\x20-\x7e]{1,64}$/;
const STATE = /^[\w-]{43}$/;

type Fields = Record<string, unknown>;

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function matches(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value);
}

function isRead({ id, serverId, address, at, refused, ...more }: Fields): boolean {
  return (
    matches(id, UUID) &&
    isId('srv', serverId) &&
    matches(address, ADDRESS) &&
    judgeUtcMoment(at) === undefined &&
    (refused === null || matches(refused, REASON)) &&
    Object.keys(more).length === 0
  );
}

function isServedRead({ keys, ...read }: Fields): boolean {
  if (!Array.isArray(keys) || keys.length > MAX_KEYS) return false;
  return keys.every((key) => matches(key, SECRET_KEY)) && isRead(read);
}

/** Nodes ask many times a second: a list of theirs is looked at in one go, not field by field. */
const judgeReads =
  (isOne: (read: Fields) => boolean): Judge =>
  (value) =>
    Array.isArray(value) && value.length <= MAX_READS && value.every((read) => isObject(read) && isOne(read))
      ? undefined
      : { code: 'reads', detail: `must be at most ${MAX_READS} reads` };

const judgeHolds: Judge = (value) =>
  isObject(value) && Object.entries(value).every(([id, state]) => isId('srv', id) && matches(state, STATE))
    ? undefined
    : { code: 'states', detail: 'must be states by service' };

const LIST = { type: 'array', items: { type: 'object' } };

export class NodeReadsDto {
  @CustomField(judgeReads(isRead), LIST)
  reads!: VaultRead[];

  @CustomField(judgeHolds, { type: 'object', additionalProperties: { type: 'string' } })
  holds!: Record<string, string>;
}

export class ServedReadsDto {
  @CustomField(judgeReads(isServedRead), LIST)
  reads!: ServedRead[];
}
