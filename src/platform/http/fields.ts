import { applyDecorators } from '@nestjs/common';
import { Transform, Type } from 'class-transformer';
import { ArrayMaxSize, IsArray, ValidateBy, ValidateIf, ValidateNested } from 'class-validator';
import { idPattern, type IdPrefix } from '../ids/id.js';
import { ApiProperty } from './openapi-annotations.js';

/*
 * One decorator per field: it validates the value and documents it in OpenAPI. All fields are required and not null unless
 * they say otherwise.
 */

export interface FieldOptions {
  /** May be absent. `null` is still refused. */
  optional?: boolean;
  /** May be `null`. */
  nullable?: boolean;
  description?: string;
  example?: unknown;
}

export interface StringOptions extends FieldOptions {
  /** Characters (code points). */
  min?: number;
  max?: number;
  /** Bytes of UTF-8. */
  maxBytes?: number;
  pattern?: RegExp;
  /** What the pattern asks for, in words: "name must ...". */
  patternHint?: string;
  /** Refuses control characters, line breaks included. */
  noControl?: boolean;
}

export interface NumberOptions extends FieldOptions {
  min: number;
  max: number;
}

/** Why a value is refused. `detail` goes on after the field's name. */
export interface Fault {
  code: string;
  detail: string;
  meta?: Record<string, unknown>;
}

/** Judges a value; undefined when there is nothing to say against it. */
export type Judge = (value: unknown) => Fault | undefined;

export function StringField(options: StringOptions = {}): PropertyDecorator {
  const { min = 0, max, maxBytes, pattern } = options;
  return field(options, judgeString(options), {
    type: 'string',
    ...(min > 0 ? { minLength: min } : {}),
    ...(max !== undefined ? { maxLength: max } : maxBytes !== undefined ? { maxLength: maxBytes } : {}),
    ...(pattern ? { pattern: pattern.source } : {}),
  });
}

export function IdField(prefix: IdPrefix, options: FieldOptions = {}): PropertyDecorator {
  return StringField({
    ...options,
    pattern: idPattern(prefix),
    patternHint: `must be an id that starts with ${prefix}_`,
  });
}

export function IntField(options: NumberOptions): PropertyDecorator {
  return field(
    options,
    judgeNumber(options, 'integer'),
    { type: 'integer', minimum: options.min, maximum: options.max },
    'integer',
  );
}

export function NumberField(options: NumberOptions): PropertyDecorator {
  return field(
    options,
    judgeNumber(options, 'number'),
    { type: 'number', minimum: options.min, maximum: options.max },
    'number',
  );
}

export function BoolField(options: FieldOptions = {}): PropertyDecorator {
  const judge: Judge = (value) =>
    typeof value === 'boolean'
      ? undefined
      : { code: 'type', detail: 'must be true or false', meta: { expected: 'boolean' } };
  return field(options, judge, { type: 'boolean' }, 'boolean');
}

/** One of the given words. With `caseInsensitive` any spelling is taken and handed on as it stands in the list. */
export function EnumField(
  values: readonly string[],
  options: FieldOptions & { caseInsensitive?: boolean } = {},
): PropertyDecorator {
  const byFolded = new Map(values.map((value) => [value.toLowerCase(), value]));
  const judge: Judge = (value) =>
    typeof value === 'string' && values.includes(value)
      ? undefined
      : { code: 'enum', detail: `must be one of ${values.join(', ')}`, meta: { allowed: values } };
  const fold = Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' ? (byFolded.get(value.toLowerCase()) ?? value) : value,
  );
  const decorate = field(options, judge, { type: 'string', enum: [...values] });
  return options.caseInsensitive ? applyDecorators(decorate, fold) : decorate;
}

/** A nested object with fields of its own. */
export function ObjectField(type: () => new () => object, options: FieldOptions = {}): PropertyDecorator {
  const judge: Judge = (value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? undefined
      : { code: 'type', detail: 'must be an object', meta: { expected: 'object' } };
  return applyDecorators(Type(type), ValidateNested(), field(options, judge, { type }));
}

/** A list of nested objects. */
export function ListField(type: () => new () => object, options: FieldOptions & { max: number }): PropertyDecorator {
  return applyDecorators(
    Type(type),
    condition(options),
    IsArray({ message: JSON.stringify({ code: 'type', detail: 'must be an array', meta: { expected: 'array' } }) }),
    ArrayMaxSize(options.max, {
      message: JSON.stringify({
        code: 'max_items',
        detail: `must not hold more than ${options.max} entries`,
        meta: { limit: options.max },
      }),
    }),
    ValidateNested({
      each: true,
      message: JSON.stringify({ code: 'type', detail: 'must hold objects only', meta: { expected: 'object' } }),
    }),
    ApiProperty({ ...describe(options), type, isArray: true, maxItems: options.max }),
  );
}

/** A field with a rule of its own. `schema` is what OpenAPI says of it. */
export function CustomField(
  judge: Judge,
  schema: Record<string, unknown>,
  options: FieldOptions = {},
): PropertyDecorator {
  return field(options, judge, schema);
}

type QueryKind = 'integer' | 'number' | 'boolean';
const queryKinds = new WeakMap<object, Map<string, QueryKind>>();

/** Fields of a class that are not text; in a query string they arrive as text and are read strictly. */
export function queryKindsOf(type: { prototype: object }): Map<string, QueryKind> {
  const kinds = new Map<string, QueryKind>();
  for (let at: object | null = type.prototype; at; at = Object.getPrototypeOf(at) as object | null) {
    for (const [name, kind] of queryKinds.get(at) ?? []) if (!kinds.has(name)) kinds.set(name, kind);
  }
  return kinds;
}

function field(
  options: FieldOptions,
  judge: Judge,
  schema: Record<string, unknown>,
  kind?: QueryKind,
): PropertyDecorator {
  const validate = ValidateBy({
    name: 'field',
    validator: {
      validate: (value: unknown) => judge(value) === undefined,
      // The fault travels as JSON in the one text class-validator has; validation.ts unpacks it.
      defaultMessage: (given) => JSON.stringify(judge(given?.value)),
    },
  });
  const document = ApiProperty({ ...describe(options), ...schema });
  return (target, property) => {
    applyDecorators(condition(options), validate, document)(target, property);
    if (kind) {
      const kinds = queryKinds.get(target) ?? new Map<string, QueryKind>();
      queryKinds.set(target, kinds.set(String(property), kind));
    }
  };
}

function condition({ optional, nullable }: FieldOptions): PropertyDecorator {
  return ValidateIf((_, value) => !(optional && value === undefined) && !(nullable && value === null));
}

function describe({ optional, nullable, description, example }: FieldOptions): Record<string, unknown> {
  return {
    required: !optional,
    ...(nullable ? { nullable } : {}),
    ...(description ? { description } : {}),
    ...(example !== undefined ? { example } : {}),
  };
}

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

function judgeString({ min = 0, max, maxBytes, pattern, patternHint, noControl }: StringOptions): Judge {
  return (value) => {
    if (typeof value !== 'string') return { code: 'type', detail: 'must be text', meta: { expected: 'string' } };
    if (!value.isWellFormed()) return { code: 'malformed_text', detail: 'must be well-formed Unicode' };
    const length = lengthOf(value, max);
    if (length < min)
      return { code: 'min_length', detail: `must have at least ${min} characters`, meta: { limit: min } };
    if (max !== undefined && length > max) {
      return { code: 'max_length', detail: `must not have more than ${max} characters`, meta: { limit: max } };
    }
    if (maxBytes !== undefined && Buffer.byteLength(value) > maxBytes) {
      return { code: 'max_bytes', detail: `must not be longer than ${maxBytes} bytes`, meta: { limit: maxBytes } };
    }
    if (noControl && CONTROL.test(value))
      return { code: 'control_character', detail: 'must not hold control characters' };
    if (pattern && !pattern.test(value)) {
      return {
        code: 'pattern',
        detail: patternHint ?? 'does not have the right form',
        meta: { pattern: pattern.source },
      };
    }
    return undefined;
  };
}

/** Code points; not counted one by one where the number of UTF-16 units settles it. */
function lengthOf(value: string, max: number | undefined): number {
  if (max !== undefined && value.length > 2 * max) return value.length;
  let pairs = 0;
  for (let i = 0; i < value.length; i++) if ((value.charCodeAt(i) & 0xfc00) === 0xdc00) pairs++;
  return value.length - pairs;
}

function judgeNumber({ min, max }: NumberOptions, kind: 'integer' | 'number'): Judge {
  const article = kind === 'integer' ? 'an integer' : 'a number';
  return (value) => {
    const fits = kind === 'integer' ? Number.isSafeInteger(value) : Number.isFinite(value);
    if (!fits) return { code: 'type', detail: `must be ${article}`, meta: { expected: kind } };
    if ((value as number) < min) return { code: 'min', detail: `must not be less than ${min}`, meta: { limit: min } };
    if ((value as number) > max)
      return { code: 'max', detail: `must not be greater than ${max}`, meta: { limit: max } };
    return undefined;
  };
}
